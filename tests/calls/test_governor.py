"""Adaptive concurrency and budgets, by a clock that the test turns."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from prompt_evaluator.model import Limits, Usage
from prompt_evaluator.providers.calls.governor import Governor
from prompt_evaluator.providers.calls.pace import Bucket


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

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

    def go(self, tokens: float = 0) -> bool:
        return self.try_enter(self.lane, tokens)

    async def wait(self) -> None:
        await self.enter(self.lane, 0)

    def end(self) -> None:
        self.leave(self.lane)


def fill(governor: OneRun) -> int:
    """Enter as often as possible; how often that was."""
    entered = 0
    while governor.go():
        entered += 1
    return entered


def answer_all(governor: OneRun, clock: Clock, seconds: float = 0.1) -> None:
    began = clock.now
    clock.now += seconds
    for _ in range(governor.in_flight):
        governor.succeeded(seconds, began)
        governor.end()


def test_concurrency_starts_modest(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)

    assert fill(governor) == 8


def test_concurrency_doubles_while_it_is_used_up_until_the_cap(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=100), clock=clock)
    sizes = []

    for _ in range(6):
        sizes.append(fill(governor))
        answer_all(governor, clock)

    assert sizes[0] == 8
    assert sizes[1] > 1.4 * sizes[0]
    assert sizes[-1] == 100


def test_concurrency_does_not_grow_when_it_is_not_used(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)

    for _ in range(50):
        assert governor.go()
        answer_all(governor, clock)

    assert governor.limit == 8


def test_the_lower_of_two_caps_counts(clock: Clock) -> None:
    assert fill(OneRun(Limits(max_concurrency=3), cap=50, clock=clock)) == 3
    assert fill(OneRun(Limits(max_concurrency=50), cap=2, clock=clock)) == 2


def test_a_burst_of_429s_cuts_concurrency_once(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)
    fill(governor)
    began = clock.now
    clock.now += 0.1

    for _ in range(8):
        governor.pushed_back(began, None)
        governor.end()

    assert governor.limit == pytest.approx(8 * 0.7)


def test_a_429_now_and_then_changes_nothing_for_the_others(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=64), clock=clock)

    for round_ in range(200):
        began = clock.now
        entered = fill(governor)
        if round_ % 3 == 0:
            governor.pushed_back(began, 60.0)
            governor.end()
        answer_all(governor, clock, 0.1)
        assert entered >= 8

    assert governor.limit == 64


def test_429s_that_have_nothing_to_do_with_the_rate_do_not_slow_calls_down_for_ever(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)
    answers = [0] * 100

    for second in range(100):
        for _ in range(50):
            began = clock.now
            for number in range(fill(governor)):
                if number % 5 == 0:
                    governor.pushed_back(began, None)
                else:
                    governor.succeeded(0.02, began)
                    answers[second] += 1
                governor.end()
            clock.now += 0.02

    assert sum(answers[-20:]) >= 0.8 * sum(answers[10:30])


def test_concurrency_recovers_after_a_cut(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=8), clock=clock)
    for _ in range(3):
        governor.pushed_back(clock.now, None)
    assert governor.limit < 8

    for _ in range(40):
        fill(governor)
        answer_all(governor, clock)
        clock.now += 1

    assert governor.limit == 8


def test_rising_latency_cuts_concurrency(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)
    for _ in range(20):
        fill(governor)
        answer_all(governor, clock, 0.1)
    before = governor.limit

    for _ in range(3):
        fill(governor)
        answer_all(governor, clock, 1.0)

    assert governor.limit < before


def test_a_late_event_loop_is_not_taken_for_a_slow_service(clock: Clock) -> None:
    lag = 0.0
    governor = OneRun(Limits(), clock=clock, lag=lambda: lag)
    for _ in range(20):
        fill(governor)
        answer_all(governor, clock, 0.1)
    before = governor.limit
    lag = 0.4

    for _ in range(3):
        fill(governor)
        answer_all(governor, clock, 1.0)

    assert governor.limit >= before


def test_requests_per_minute_are_paced(clock: Clock) -> None:
    governor = OneRun(Limits(requests_per_minute=60), clock=clock)
    entered = 0

    for _ in range(100):
        entered += fill(governor)
        answer_all(governor, clock, 0.1)

    assert entered == pytest.approx(11, abs=1)  # ten seconds and the first


def test_three_requests_a_minute_are_one_every_twenty_seconds(clock: Clock) -> None:
    governor = OneRun(Limits(requests_per_minute=3), clock=clock)
    assert fill(governor) == 1

    clock.now += 19.9
    assert fill(governor) == 0
    clock.now += 0.2
    assert fill(governor) == 1


def test_tokens_per_minute_are_paced_by_what_calls_really_used(clock: Clock) -> None:
    governor = OneRun(Limits(tokens_per_minute=6_000), clock=clock)
    assert governor.go(100)
    used = Usage(input_tokens=2_000, output_tokens=500)
    governor.succeeded(0.1, clock.now, estimate=100, usage=used)  # far more than expected: 500 were there
    governor.end()

    assert not governor.go(100)
    clock.now += 19
    assert not governor.go(100)
    clock.now += 2
    assert governor.go(100)


def test_a_call_larger_than_the_whole_budget_still_goes() -> None:
    bucket = Bucket(60, 1)

    assert bucket.wait(1.0) == 0
    bucket.take(1_000)

    assert bucket.wait(2.0) == pytest.approx(999, abs=1)


def test_retry_after_holds_every_call_of_the_key(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)
    for _ in range(3):  # one alone may be an accident
        governor.pushed_back(clock.now, 5.0)

    assert not governor.go()
    clock.now += 4.9
    assert not governor.go()
    clock.now += 0.2
    assert governor.go()


def test_limits_from_headers_are_used_unless_configured(clock: Clock) -> None:
    learned = OneRun(Limits(), clock=clock)
    configured = OneRun(Limits(requests_per_minute=600), clock=clock)

    for governor in (learned, configured):
        governor.learn(60, None)

    assert fill(learned) == 1
    assert fill(configured) == 8


def test_a_service_that_only_says_429_teaches_its_rate(clock: Clock) -> None:
    governor = OneRun(Limits(), clock=clock)
    for _ in range(10):  # ten answers a second
        assert governor.go()
        answer_all(governor, clock, 0.1)
    for _ in range(3):
        governor.pushed_back(clock.now, None)
    entered = 0

    for _ in range(500):
        entered += fill(governor)
        answer_all(governor, clock, 0.01)

    assert 40 <= entered <= 60


@pytest.mark.parametrize("start", [100.0, 100.5, 100.95])
def test_a_rate_that_is_learned_in_the_first_moments_is_the_one_that_was_seen(clock: Clock, start: float) -> None:
    clock.now = start
    governor = OneRun(Limits(), clock=clock)
    for _ in range(2):  # 8 and 32 answers in a fifth of a second
        fill(governor)
        answer_all(governor, clock, 0.1)
    for _ in range(3):
        governor.pushed_back(clock.now, None)
    entered = 0

    for _ in range(100):
        entered += fill(governor)
        answer_all(governor, clock, 0.01)

    assert 170 <= entered <= 230


async def test_waiting_calls_go_in_the_order_they_came() -> None:
    governor = OneRun(Limits(max_concurrency=1))
    assert governor.go()
    order: list[int] = []

    async def call(number: int) -> None:
        await governor.wait()
        order.append(number)
        governor.end()

    async with asyncio.TaskGroup() as group:
        for number in range(5):
            group.create_task(call(number))
        await asyncio.sleep(0)
        governor.end()

    assert order == [0, 1, 2, 3, 4]
    assert governor.in_flight == 0


async def test_a_cancelled_wait_gives_its_place_to_the_next() -> None:
    governor = OneRun(Limits(max_concurrency=1))
    assert governor.go()
    first = asyncio.create_task(governor.wait())
    second = asyncio.create_task(governor.wait())
    await asyncio.sleep(0)

    first.cancel()
    await asyncio.sleep(0)
    governor.end()
    await asyncio.wait_for(second, 1)

    assert governor.in_flight == 1


async def test_a_call_cancelled_in_the_moment_of_its_admission_leaves_again() -> None:
    governor = OneRun(Limits(max_concurrency=1))
    assert governor.go()
    waiting = asyncio.create_task(governor.wait())
    await asyncio.sleep(0)

    governor.end()  # admits the waiting call
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    assert governor.in_flight == 0


async def test_waiting_because_of_a_429_is_limited_until_concurrency_has_recovered(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=8), clock=clock)
    for _ in range(3):
        governor.pushed_back(clock.now, None)
    fill(governor)
    waiting = asyncio.create_task(governor.wait())
    await asyncio.sleep(0)

    clock.now += 5
    limited = governor.limited_seconds()
    answer_all(governor, clock)
    await waiting

    assert limited == 5
    clock.now += 100
    assert governor.limited_seconds() == pytest.approx(5.1)


async def test_waiting_for_a_hold_is_limited_and_waiting_for_a_place_is_not(clock: Clock) -> None:
    governor = OneRun(Limits(max_concurrency=1), clock=clock)
    assert governor.go()
    waiting = asyncio.create_task(governor.wait())
    await asyncio.sleep(0)
    clock.now += 7
    assert governor.limited_seconds() == 0

    for _ in range(3):
        governor.pushed_back(clock.now, 60)
    governor.end()
    clock.now += 11

    assert governor.limited_seconds() == 11
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    clock.now += 13
    assert governor.limited_seconds() == 11
