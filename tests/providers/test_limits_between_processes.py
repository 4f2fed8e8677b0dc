"""Rate limits that several processes keep together: each `SharedCalls` stands for a process."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import pytest
from calling import REQUEST, Calls, FakeProvider
from in_memory_limits import InMemoryLimits

from prompt_evaluator.errors import RateLimitedError, StoreError
from prompt_evaluator.model import Limits, ProviderSettings, Secret
from prompt_evaluator.providers.calls.governor import Governor
from prompt_evaluator.providers.calls.shared import SharedCalls
from prompt_evaluator.providers.calls.shared_rate import SharedBucket
from prompt_evaluator.providers.calls.traits import Traits

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.providers.calls.pace import LimitKind

ENDPOINT = "https://one.example"
PER_SECOND = 200


def entry(**limits: Any) -> ProviderSettings:
    return ProviderSettings(kind="test", limits=Limits(**limits))


def process(limits: InMemoryLimits) -> SharedCalls:
    shared = SharedCalls()
    shared.limits = limits
    return shared


async def keep_asking(calls: Calls, provider: FakeProvider, settings: ProviderSettings, seconds: float) -> None:
    client = calls.around(provider, settings)
    until = time.monotonic() + seconds

    async def ask() -> None:
        while time.monotonic() < until:
            await client.complete(REQUEST)

    await asyncio.gather(*(ask() for _ in range(8)))
    await calls.close()


async def test_two_processes_together_keep_one_rate_with_few_questions_to_the_store() -> None:
    limits = InMemoryLimits()
    provider = FakeProvider(endpoint=ENDPOINT)
    settings = entry(requests_per_minute=PER_SECOND * 60)

    began = time.monotonic()
    await asyncio.gather(*(keep_asking(Calls(process(limits)), provider, settings, 2.0) for _ in range(2)))
    seconds = time.monotonic() - began

    assert len(provider.tries) <= PER_SECOND * (seconds + 1.0 + 0.1) + 16  # what is saved up, one block, calls waiting
    assert len(provider.tries) >= PER_SECOND * 2.0 * 0.6
    assert limits.asked <= 20 * seconds + 30


async def test_entries_of_different_keys_do_not_share_a_rate() -> None:
    limits = InMemoryLimits()
    first, second = FakeProvider(endpoint=ENDPOINT), FakeProvider(endpoint=ENDPOINT)
    first.key, second.key = Secret("sk-first-0123456789"), Secret("sk-second-0123456789")  # type: ignore[attr-defined] # a trait

    await asyncio.gather(
        *(keep_asking(Calls(process(limits)), each, entry(requests_per_minute=60), 0.2) for each in (first, second))
    )

    assert len(limits.lines) == 2
    assert not any("sk-" in key or ENDPOINT in key for key, _ in limits.lines)
    assert {len(key) for key, _ in limits.lines} == {64}


async def test_a_rate_that_the_service_states_is_shared_and_one_that_is_guessed_is_not() -> None:
    limits = InMemoryLimits()
    stated, guessed = (process(limits).key_state("svc", entry(), Traits(endpoint=name)).governor for name in ("a", "b"))
    stated.learn(600, None)
    lane = stated.open_lane()
    began = time.monotonic()
    for _ in range(20):  # answers, then refusals
        guessed.succeeded(0.01, began)
        guessed.pushed_back(time.monotonic(), None)

    await asyncio.wait_for(stated.enter(lane, 0), 5)
    guessed.try_enter(guessed.open_lane(), 0)

    assert len(limits.lines) == 1


async def test_a_429_in_one_process_holds_back_the_others_although_they_have_no_limit() -> None:
    limits = InMemoryLimits()
    refusals = [RateLimitedError("slow down.", provider="svc", retry_after=2.0) for _ in range(6)]
    refused, other = FakeProvider(*refusals, endpoint=ENDPOINT), FakeProvider(seconds=0.01, endpoint=ENDPOINT)
    working = asyncio.create_task(keep_asking(Calls(process(limits)), other, entry(), 4.0))
    await asyncio.sleep(0.3)

    calls = Calls(process(limits))
    client = calls.around(refused, entry(first_backoff=0.01))
    await asyncio.gather(*(client.complete(REQUEST) for _ in range(6)))
    await working
    await calls.close()

    (held_until,) = limits.holds.values()
    pauses = [(after - before, after) for before, after in zip(other.tries, other.tries[1:], strict=False)]
    longest, end = max(pauses)
    assert longest > 0.3  # it hears of it within a second
    assert end >= held_until - 0.1


class Slow:
    """A key whose store answers when it is told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, Callable[[float | StoreError], None]]] = []
        self.answered = 0
        self.given_back: list[float] = []

    def reserve(self, _kind: str, seconds: float, _slack: float, answered: Callable[[Any], None]) -> None:
        self.asked.append((seconds, answered))

    def give_back(self, _kind: str, seconds: float) -> None:
        self.given_back.append(seconds)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def bucket(kind: LimitKind, per_second: float) -> tuple[SharedBucket, Slow, Clock]:
    key, clock = Slow(), Clock()
    return SharedBucket(key, kind, per_second * 60, clock, lambda: None), key, clock  # type: ignore[arg-type] # stands for one


def test_nothing_goes_before_the_store_has_answered_and_then_when_it_says() -> None:
    rate, key, clock = bucket("requests", 100)

    assert rate.wait(clock.now) > 0
    assert rate.wait(clock.now) > 0
    ((seconds, answered),) = key.asked  # once
    assert seconds == pytest.approx(0.05)
    answered(0.5)

    assert rate.wait(clock.now) == pytest.approx(0.5)
    assert rate.wait(clock.now + 0.5) == 0
    for _ in range(5):
        rate.take(1)
    assert rate.wait(clock.now + 0.5) > 0
    assert len(key.asked) == 2


def test_a_store_that_is_slow_is_asked_for_more_at_once() -> None:
    rate, key, clock = bucket("requests", 100)
    rate.wait(clock.now)
    clock.now += 0.2
    key.asked[0][1](0.0)
    for _ in range(5):
        rate.take(1)
    rate.wait(clock.now)

    assert key.asked[1][0] == pytest.approx(0.4)


def test_a_call_that_used_more_tokens_than_there_are_makes_the_next_wait_for_as_long_as_they_are_worth() -> None:
    rate, key, clock = bucket("tokens", 1_000)
    rate.wait(clock.now)
    key.asked[0][1](0.0)
    rate.take(2_050)  # of 50
    rate.wait(clock.now)
    assert key.asked[1][0] == pytest.approx(2.05)
    key.asked[1][1](0.0)

    assert rate.wait(clock.now) == pytest.approx(2.0)
    rate.take(-1_000)  # it used less
    assert rate.wait(clock.now) == pytest.approx(1.0)


def test_tokens_that_calls_did_not_use_go_back_to_all() -> None:
    rate, key, clock = bucket("tokens", 1_000)
    rate.wait(clock.now)
    key.asked[0][1](0.0)
    rate.take(-10_000)

    (seconds,) = key.given_back
    assert seconds == pytest.approx(10.0)
    assert rate.wait(clock.now) == 0


def test_a_store_that_cannot_be_reached_is_waited_for_and_then_the_process_goes_on_alone_until_it_is_back() -> None:
    rate, key, clock = bucket("requests", 100)
    gone = StoreError("gone")
    went = 0
    for _ in range(300):  # thirty seconds
        if rate.wait(clock.now) == 0:
            rate.take(1)
            went += 1
        for _, answered in key.asked[key.answered :]:
            answered(gone)
            key.answered += 1
        clock.now += 0.1
    assert 190 <= went <= 210  # one in every tenth of a second, after ten seconds
    assert 25 <= len(key.asked) <= 32  # one in every second

    while len(key.asked) == key.answered:
        rate.wait(clock.now)
        clock.now += 0.1
    key.asked[-1][1](3.0)

    assert rate.wait(clock.now) == pytest.approx(3.0)


def test_a_store_that_never_answers_is_not_waited_for_either() -> None:
    rate, key, clock = bucket("requests", 100)
    waits = []
    for _ in range(120):
        waits.append(rate.wait(clock.now))
        clock.now += 0.1

    assert all(waits[:100])
    assert not all(waits[-10:])
    assert len(key.asked) == 1


async def test_runs_take_turns_however_many_calls_each_has_waiting() -> None:
    governor = Governor(Limits(max_concurrency=1))
    large, small = governor.open_lane(), governor.open_lane()
    assert governor.try_enter(large, 0)
    order: list[str] = []

    async def call(name: str, lane: Any, *, urgent: bool) -> None:
        await governor.enter(lane, 0, urgent=urgent)
        order.append(name)
        governor.leave(lane)

    async with asyncio.TaskGroup() as group:
        for _ in range(20):
            group.create_task(call("large", large, urgent=True))
        await asyncio.sleep(0)
        for _ in range(3):
            group.create_task(call("small", small, urgent=False))
        await asyncio.sleep(0)
        governor.leave(large)

    assert order[:6] == ["large", "small"] * 3
    assert order.count("large") == 20
