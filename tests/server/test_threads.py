"""Use cases of a server run in threads: what is read together, what comes first, and what nobody waits for."""

from __future__ import annotations

import asyncio
import itertools
import threading
from functools import partial
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.server.application import all_routes
from prompt_evaluator.server.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Callable

_LONG = 60.0
"""Seconds: a test that waits for so long has failed."""


class Gate:
    """A function that says when it has begun, and ends when it is told to."""

    def __init__(self) -> None:
        self.calls = 0
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self) -> int:
        self.calls += 1
        self.begun.set()
        assert self.may_end.wait(_LONG)
        return self.calls


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(_LONG):
        while not condition():  # noqa: ASYNC110 - it is set in a thread
            await asyncio.sleep(0.001)


async def _occupied(threads: Threads) -> tuple[Gate, list[asyncio.Task[int]]]:
    """Readers in all threads."""
    gate = Gate()
    readers = [asyncio.create_task(threads.read(at, gate)) for at in range(3)]
    await _until(lambda: gate.calls == len(readers))
    return gate, readers


async def test_equal_reads_that_wait_are_made_once() -> None:
    threads = Threads()
    gate, readers = await _occupied(threads)
    numbers = itertools.count(1)

    waiting = [asyncio.create_task(threads.read("same", lambda: next(numbers))) for _ in range(50)]
    await asyncio.sleep(0)  # they ask
    gate.may_end.set()

    assert await asyncio.gather(*waiting) == [1] * 50
    await asyncio.gather(*readers)


async def test_other_reads_are_made_for_themselves() -> None:
    threads = Threads()
    gate, readers = await _occupied(threads)

    waiting = [asyncio.create_task(threads.read(f"key {at}", partial(int, at))) for at in range(50)]
    gate.may_end.set()

    assert await asyncio.gather(*waiting) == list(range(50))
    await asyncio.gather(*readers)


async def test_nobody_gets_a_result_that_was_begun_before_they_asked() -> None:
    threads, old = Threads(), Gate()
    first = asyncio.create_task(threads.read("same", old))
    await _until(old.begun.is_set)

    second = await threads.read("same", lambda: 4711)
    old.may_end.set()

    assert (await first, second) == (1, 4711)


async def test_a_reader_that_goes_away_leaves_the_others_their_result() -> None:
    threads = Threads()
    gate, readers = await _occupied(threads)
    gone, other = (asyncio.create_task(threads.read("same", lambda: 4711)) for _ in range(2))
    await asyncio.sleep(0)  # they ask

    gone.cancel()
    gate.may_end.set()

    assert await other == 4711
    await asyncio.gather(*readers)


async def test_what_goes_wrong_is_told_to_all_who_wait_and_not_to_the_next() -> None:
    threads = Threads()
    gate, readers = await _occupied(threads)

    def wrong() -> int:
        raise LookupError

    waiting = [asyncio.create_task(threads.read("same", wrong)) for _ in range(3)]
    await asyncio.sleep(0)  # they ask
    gate.may_end.set()

    assert [type(each) for each in await asyncio.gather(*waiting, return_exceptions=True)] == [LookupError] * 3
    assert await threads.read("same", lambda: 4711) == 4711
    await asyncio.gather(*readers)


async def test_a_change_does_not_wait_for_readers() -> None:
    threads = Threads()
    gate, readers = await _occupied(threads)

    assert await asyncio.wait_for(threads.change(lambda: 4711), _LONG) == 4711
    gate.may_end.set()
    await asyncio.gather(*readers)


async def test_a_read_lets_a_change_go_first() -> None:
    threads, change, order = Threads(), Gate(), []
    changing = asyncio.create_task(threads.change(change))
    await _until(change.begun.is_set)

    reading = asyncio.create_task(threads.read("key", lambda: order.append("read")))
    changing.add_done_callback(lambda _: order.append("changed"))
    await asyncio.sleep(0)  # they ask
    change.may_end.set()
    await asyncio.gather(changing, reading)

    assert order == ["changed", "read"]


@pytest.mark.parametrize("key", ["same", "other"])
async def test_a_long_change_holds_no_read_up_for_long(key: str) -> None:
    threads, change = Threads(), Gate()
    changing = asyncio.create_task(threads.change(change))
    await _until(change.begun.is_set)

    assert await asyncio.wait_for(threads.read(key, lambda: 4711), _LONG) == 4711
    change.may_end.set()
    await changing


def test_what_is_streamed_is_shared_with_nobody() -> None:
    streamed = [route for route in all_routes() if "Streamed" in route.run.__annotations__["return"]]

    assert streamed
    assert not [route.path for route in streamed if route.is_shared]
