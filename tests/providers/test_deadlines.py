"""One timer ends every request at its own time."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from prompt_evaluator.providers.transport.deadlines import Deadlines


class Request:
    """Stands for a connection with a request in flight: notes when it is told to end."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    def time_out(self) -> None:
        self.ended.set()


def watched(deadlines: Deadlines, *seconds: float) -> list[Any]:
    requests: list[Any] = [Request() for _ in seconds]
    for request, limit in zip(requests, seconds, strict=True):
        deadlines.watch(request, limit)
    return requests


@pytest.mark.parametrize("order", [(0.02, 30.0), (30.0, 0.02)], ids=["short first", "long first"])
async def test_a_short_limit_ends_before_a_long_one_whichever_began_first(order: tuple[float, float]) -> None:
    requests = watched(Deadlines(), *order)
    short, long = sorted(requests, key=lambda each: order[requests.index(each)])

    await asyncio.wait_for(short.ended.wait(), 5)

    assert not long.ended.is_set()


async def test_requests_end_one_after_the_other() -> None:
    deadlines = Deadlines()
    requests = watched(deadlines, 0.01, 0.02, 0.03)

    for request in requests:
        await asyncio.wait_for(request.ended.wait(), 5)
        deadlines.forget(request)


async def test_a_request_that_was_answered_is_not_ended() -> None:
    deadlines = Deadlines()
    answered, late = watched(deadlines, 0.01, 0.03)
    deadlines.forget(answered)

    await asyncio.wait_for(late.ended.wait(), 5)

    assert not answered.ended.is_set()


async def test_a_request_after_a_quiet_time_is_ended_too() -> None:
    deadlines = Deadlines()
    (first,) = watched(deadlines, 0.01)
    deadlines.forget(first)
    await asyncio.sleep(0.03)

    (second,) = watched(deadlines, 0.01)

    await asyncio.wait_for(second.ended.wait(), 5)
