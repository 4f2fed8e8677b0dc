"""Items are loaded while others are being worked on, and errors of loading reach whoever asks."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.pipeline.feed import Feed

if TYPE_CHECKING:
    from collections.abc import Sequence


def _feed(*batches: Sequence[int]) -> Feed[int]:
    left = list(batches)

    async def load() -> Sequence[int] | None:
        await asyncio.sleep(0)
        return left.pop(0) if left else None

    return Feed(load)


async def test_every_item_of_every_batch_is_handed_out_once_in_order() -> None:
    feed = _feed(range(10), [], range(10, 25))

    assert [await feed.next() for _ in range(26)] == [*range(25), None]


async def test_one_batch_is_loaded_ahead_and_no_more() -> None:
    loaded = 0

    async def load() -> Sequence[int] | None:
        nonlocal loaded
        loaded += 1
        await asyncio.sleep(0)
        return range(100)

    feed = Feed(load)
    for _ in range(50):
        await feed.next()
        await asyncio.sleep(0)
    assert loaded == 2

    for _ in range(51):
        await feed.next()
    await feed.close()

    assert loaded == 3


async def test_an_error_while_loading_is_raised_by_the_next_call() -> None:
    async def load() -> Sequence[int] | None:
        raise ValueError("unreadable")

    with pytest.raises(ValueError, match="unreadable"):
        await Feed(load).next()


async def test_an_item_put_back_comes_next_even_after_the_end() -> None:
    feed = _feed([1])
    assert [await feed.next(), await feed.next()] == [1, None]

    feed.again(1)

    assert [await feed.next(), await feed.next()] == [1, None]


async def test_a_feed_that_has_ended_stays_ended() -> None:
    feed = _feed([1])

    assert [await feed.next() for _ in range(3)] == [1, None, None]
