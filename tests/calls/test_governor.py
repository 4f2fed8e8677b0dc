"""Adaptive concurrency and configured rates, by a clock that the test turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from entries import each

from prompt_evaluator.calls.governor import Bucket, Governor
from prompt_evaluator.model import Limits


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


class OneRun(Governor):
    """A governor with one run on it."""

    def __init__(self, limits: Limits, *, cap: int | None = None, **timing: Any) -> None:
        super().__init__(limits, **timing)
        self.join(limits, cap)
        self.lane = self.open_lane(cap or limits.max_concurrency)

    def fill(self, tokens: float = 0) -> int:
        """Enter as often as possible; how often that was."""
        entered = 0
        while self.try_enter(self.lane, tokens):
            entered += 1
        return entered

    def answer(self, count: int) -> None:
        """Calls are answered one after the other, and others take their places."""
        for _ in range(count):
            self.succeeded()
            self.leave(self.lane)
            self.fill()

    def refuse(self, count: int, *, retry_after: float | None = None) -> None:
        """As many different calls get a 429, and are gone."""
        for _ in range(count):
            self.pushed_back(object(), self._clock(), retry_after)


def test_concurrency_starts_modest_and_grows_fourfold_in_the_time_of_a_call_until_the_cap(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=100), clock=clock)
    assert governor.fill() == 8

    governor.answer(8)
    assert governor.in_flight == 32
    governor.answer(100)

    assert governor.in_flight == 100


def test_concurrency_does_not_grow_when_it_is_not_used(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)

    for _ in range(50):
        assert governor.try_enter(governor.lane)
        governor.succeeded()
        governor.leave(governor.lane)

    assert governor.limit == 8


def test_the_lower_of_two_caps_counts(clock: Clock) -> None:
    assert OneRun(Limits(max_concurrency=3), cap=50, clock=clock).fill() == 3
    assert OneRun(Limits(max_concurrency=50), cap=2, clock=clock).fill() == 2


def test_of_two_entries_with_one_key_the_stricter_limit_counts(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=5, requests_per_minute=240), cap=50, clock=clock)

    governor.join(Limits(max_concurrency=7, requests_per_minute=120))

    assert governor.fill() == 2
    clock.now += 100
    assert governor.fill() == 2
    clock.now += 100
    assert governor.fill() == 1


def test_one_429_alone_changes_nothing_for_the_others(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=64), clock=clock)
    governor.fill()

    for _ in range(100):
        governor.refuse(1, retry_after=60)
        governor.answer(30)

    assert governor.in_flight == 64


def test_a_call_that_is_refused_again_and_again_is_still_one(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)
    one, another = object(), object()

    for _ in range(50):
        governor.pushed_back(one, clock.now, 60)
        governor.pushed_back(another, clock.now, 60)

    assert not governor.is_refused
    assert governor.fill() == 8


def test_a_burst_of_429s_cuts_concurrency_once(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)
    governor.fill()
    clock.now += 0.1

    for _ in range(20):
        governor.pushed_back(object(), clock.now - 0.1, None)

    assert governor.limit == pytest.approx(8 * 0.7)


def test_after_a_cut_concurrency_grows_by_one_in_the_time_of_a_call(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=8), clock=clock)
    governor.refuse(6)
    governor.limit = 4.0
    governor.fill()

    governor.answer(4)
    assert governor.in_flight == 4
    governor.answer(1)
    assert governor.in_flight == 5
    governor.answer(5 + 6 + 7 + 1)

    assert governor.in_flight == 8


def test_there_is_always_room_for_one_call(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)

    for _ in range(100):
        clock.now += 1
        governor.refuse(1)

    assert governor.fill() == 1


def test_retry_after_holds_every_call_of_the_key(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)
    governor.refuse(6, retry_after=5)

    assert governor.fill() == 0
    clock.now += 4.9
    assert governor.fill() == 0
    clock.now += 0.2
    assert governor.fill() > 0


def test_where_the_only_call_in_flight_is_refused_all_wait_a_moment(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=1), clock=clock)
    governor.refuse(6)
    assert governor.fill() == 1
    governor.refuse(1)
    governor.leave(governor.lane)

    assert governor.fill() == 0
    clock.now += 0.5
    assert governor.fill() == 1


@each(("rate", "pause", "entered"), [(60, 0.1, 11), (3, 2.0, 11)])
def test_requests_per_minute_are_paced(rate: int, pause: float, entered: int) -> None:
    clock = Clock()
    governor = OneRun(Limits(requests_per_minute=rate), clock=clock)
    found = 0

    for _ in range(100):
        found += (count := governor.fill())
        for _ in range(count):
            governor.leave(governor.lane)
        clock.now += pause

    assert found == pytest.approx(entered, abs=1)  # those of the time, and the first


def test_tokens_per_minute_are_paced_by_what_calls_really_used(clock: Clock) -> None:
    governor = OneRun(Limits(tokens_per_minute=6_000), clock=clock)
    assert governor.try_enter(governor.lane, 100)
    governor.leave(governor.lane, 100 - 8_000)  # far more than expected: 6,000 were there

    assert governor.fill(100) == 0
    clock.now += 19
    assert governor.fill(100) == 0
    clock.now += 2
    assert governor.fill(100) == 1


def test_tokens_that_a_call_did_not_use_are_free_again(clock: Clock) -> None:
    governor = OneRun(Limits(tokens_per_minute=6_000), clock=clock)
    assert governor.fill(4_000) == 2

    governor.leave(governor.lane, 4_000 - 100)

    assert governor.fill(1_000) == 2


def test_a_call_larger_than_the_whole_rate_still_goes() -> None:
    bucket = Bucket(60, 1)

    assert bucket.wait(1.0) == 0
    bucket.take(1_000)

    assert bucket.wait(2.0) == pytest.approx(999, abs=1)


async def test_waiting_calls_go_in_the_order_they_came_and_urgent_ones_first() -> None:
    governor = OneRun(Limits(max_concurrency=1))
    governor.fill()
    order: list[int] = []

    async def call(number: int, *, urgent: bool = False) -> None:
        await governor.enter(governor.lane, urgent=urgent)
        order.append(number)
        governor.leave(governor.lane)

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(call(number))
        group.create_task(call(5, urgent=True))
        await asyncio.sleep(0)
        governor.leave(governor.lane)

    assert order == [5, 0, 1, 2, 3, 4]
    assert governor.in_flight == 0


async def test_runs_take_turns_however_many_calls_of_each_wait() -> None:
    governor = OneRun(Limits(max_concurrency=1))
    governor.fill()
    lanes = {"many": governor.lane, "few": governor.open_lane()}
    order: list[str] = []

    async def call(run: str) -> None:
        await governor.enter(lanes[run])
        order.append(run)
        governor.leave(lanes[run])

    async with asyncio.TaskGroup() as group:
        for run in ("many",) * 6 + ("few",) * 2:
            group.create_task(call(run))
        await asyncio.sleep(0)
        governor.leave(governor.lane)

    assert order == ["many", "few", "many", "few", "many", "many", "many", "many"]


async def test_a_cancelled_wait_gives_its_place_to_the_next() -> None:
    governor = OneRun(Limits(max_concurrency=1))
    governor.fill()
    first = asyncio.create_task(governor.enter(governor.lane))
    second = asyncio.create_task(governor.enter(governor.lane))
    await asyncio.sleep(0)

    first.cancel()
    await asyncio.sleep(0)
    governor.leave(governor.lane)
    await asyncio.wait_for(second, 1)

    assert governor.in_flight == 1


async def test_a_call_cancelled_in_the_moment_of_its_admission_leaves_again() -> None:
    governor = OneRun(Limits(max_concurrency=1))
    governor.fill()
    waiting = asyncio.create_task(governor.enter(governor.lane))
    await asyncio.sleep(0)

    governor.leave(governor.lane)  # admits the waiting call
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert governor.in_flight == 0


def test_it_says_whether_the_service_holds_calls_back(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=8), clock=clock)
    governor.fill()
    assert not governor.is_limiting  # only our own cap

    governor.refuse(6, retry_after=5)
    assert governor.is_limiting
    clock.now += 6
    assert governor.is_limiting  # fewer calls than our cap
    governor.limit = 8.0

    assert not governor.is_limiting
