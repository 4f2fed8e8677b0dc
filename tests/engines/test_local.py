from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.engines.local import Feed, LocalEngine

if TYPE_CHECKING:
    from collections.abc import Sequence


def _feed(*batches: Sequence[int]) -> Feed[int]:
    left = list(batches)

    async def load() -> Sequence[int] | None:
        await asyncio.sleep(0)
        return left.pop(0) if left else None

    return Feed(load)


async def test_every_item_of_every_batch_is_worked_on_once() -> None:
    done: list[int] = []

    async def work(item: int) -> None:
        await asyncio.sleep(0)
        done.append(item)

    await LocalEngine(7).run(_feed(range(10), [], range(10, 25)), work)

    assert sorted(done) == list(range(25))


async def test_no_more_items_are_under_way_than_there_are_workers() -> None:
    under_way = most = 0

    async def work(_item: int) -> None:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.001)
        under_way -= 1

    await LocalEngine(4).run(_feed(range(40)), work)

    assert most == 4


async def test_the_next_batch_is_loaded_when_half_of_the_last_is_used_up() -> None:
    loaded = 0

    async def load() -> Sequence[int] | None:
        nonlocal loaded
        loaded += 1
        await asyncio.sleep(0)
        return range(100)

    feed = Feed(load)
    for _ in range(50):
        await feed.next()
    await asyncio.sleep(0.01)
    assert loaded == 1

    await feed.next()
    await feed.close()

    assert loaded == 2


async def test_the_first_error_ends_the_others_and_is_raised() -> None:
    ended: list[int] = []

    async def work(item: int) -> None:
        if item == 3:
            raise ValueError("three")
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(item)

    with pytest.raises(ValueError, match="three"):
        await LocalEngine(4).run(_feed(range(100)), work)

    assert sorted(ended) == [0, 1, 2]


async def test_an_error_while_loading_is_raised_too() -> None:
    async def load() -> Sequence[int] | None:
        raise ValueError("unreadable")

    async def work(_item: int) -> None:
        raise AssertionError

    with pytest.raises(ValueError, match="unreadable"):
        await LocalEngine(4).run(Feed(load), work)


async def test_after_a_stop_what_is_under_way_finishes_and_nothing_is_begun() -> None:
    begun: list[int] = []
    finished: list[int] = []
    engine = LocalEngine(2)

    async def work(item: int) -> None:
        begun.append(item)
        if len(begun) == 2:
            engine.stop(5)
        await asyncio.sleep(0.05)
        finished.append(item)

    await engine.run(_feed(range(100)), work)

    assert begun == finished == [0, 1]


async def test_what_outlasts_the_drain_is_given_up() -> None:
    engine = LocalEngine(1)

    async def work(_item: int) -> None:
        engine.stop(0.02)
        await asyncio.sleep(60)

    async with asyncio.timeout(5):
        await engine.run(_feed(range(3)), work)


async def test_a_feed_that_has_ended_stays_so() -> None:
    feed = _feed([1])

    assert [await feed.next() for _ in range(3)] == [1, None, None]
