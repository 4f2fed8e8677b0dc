"""Runs and entries that use one key at one endpoint: what they share, and what each has for itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from calling import REQUEST, Calls, FakeProvider

from prompt_evaluator.errors import BudgetSpentError, RateLimitedError, StoppedError
from prompt_evaluator.model import Limits, ProviderSettings
from prompt_evaluator.providers.calls.budget import Budget
from prompt_evaluator.providers.calls.governor import Governor
from prompt_evaluator.providers.calls.shared import SharedCalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.providers.calls.client import Client

ENDPOINT = "https://one.example"


def entry(**limits: Any) -> ProviderSettings:
    return ProviderSettings(kind="test", limits=Limits(**limits))


async def all_of(*clients: Client, times: int = 10) -> None:
    await asyncio.gather(*(client.complete(REQUEST) for client in clients for _ in range(times)))


async def becomes_true(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():  # noqa: ASYNC110 - what is waited for has no event
            await asyncio.sleep(0)


async def test_two_runs_are_held_to_one_limit_together() -> None:
    shared, provider = SharedCalls(), FakeProvider(seconds=0.001, endpoint=ENDPOINT)
    first, second = Calls(shared), Calls(shared)

    await all_of(*(calls.around(provider, entry(max_concurrency=3)) for calls in (first, second)))

    assert provider.most_at_once == 3
    assert first.meter.answers == second.meter.answers == 10


async def test_a_runs_own_cap_holds_back_that_run_only() -> None:
    shared = SharedCalls()
    slow, quick = FakeProvider(seconds=0.001, endpoint=ENDPOINT), FakeProvider(seconds=0.001, endpoint=ENDPOINT)
    capped = Calls(shared, max_concurrency=2).around(slow, entry())
    free = Calls(shared).around(quick, entry())

    await all_of(capped, free)

    assert slow.most_at_once == 2
    assert quick.most_at_once > 2


async def test_a_run_that_waits_for_its_own_cap_is_in_nobodys_way() -> None:
    governor = Governor(Limits())
    capped, free = governor.open_lane(1), governor.open_lane()
    assert governor.try_enter(capped, 0)
    waiting = asyncio.create_task(governor.enter(capped, 0))
    await asyncio.sleep(0)

    await asyncio.wait_for(governor.enter(free, 0), 1)

    assert not waiting.done()
    governor.leave(capped)
    await asyncio.wait_for(waiting, 1)


@pytest.mark.parametrize("order", [(3, 5), (5, 3)], ids=["the first is stricter", "the second is stricter"])
async def test_of_two_entries_with_one_key_the_lower_concurrency_counts(order: tuple[int, int]) -> None:
    calls, provider = Calls(), FakeProvider(seconds=0.001, endpoint=ENDPOINT)

    await all_of(*(calls.around(provider, entry(max_concurrency=most)) for most in order))

    assert provider.most_at_once == 3


@pytest.mark.parametrize("rates", [(60, 6_000), (6_000, 60)], ids=["the first is stricter", "the second is stricter"])
@pytest.mark.parametrize("limit", ["requests_per_minute", "tokens_per_minute"])
def test_of_two_entries_with_one_key_the_lower_rate_counts(limit: str, rates: tuple[int, int]) -> None:
    now = 100.0
    governor = Governor(Limits(**{limit: rates[0]}), clock=lambda: now)
    lane = governor.open_lane()
    governor.join(Limits(**{limit: rates[1]}))

    entered = 0
    for _ in range(600):  # a minute
        now += 0.1
        while governor.try_enter(lane, 1):
            entered += 1
            governor.leave(lane)

    assert 55 <= entered <= 70


def test_each_limit_may_come_from_another_entry() -> None:
    governor = Governor(Limits(max_concurrency=5), clock=lambda: 100.0)
    governor.join(Limits(requests_per_minute=60))
    lane = governor.open_lane()

    assert governor.cap == 5
    assert governor.try_enter(lane, 0)
    assert not governor.try_enter(lane, 0)


def test_a_limit_that_was_learned_gives_way_to_one_that_is_configured_later() -> None:
    now = 100.0
    governor = Governor(Limits(), clock=lambda: now)
    lane = governor.open_lane()
    governor.learn(60, None)

    governor.join(Limits(requests_per_minute=6_000))
    governor.learn(1, None)

    entered = 0
    for _ in range(100):  # ten seconds
        now += 0.1
        while governor.try_enter(lane, 0):
            entered += 1
            governor.leave(lane)
    assert 900 <= entered <= 1_100


async def test_urgent_calls_go_before_others_and_each_kind_in_its_order() -> None:
    governor = Governor(Limits(max_concurrency=1))
    lane = governor.open_lane()
    assert governor.try_enter(lane, 0)
    order: list[str] = []

    async def call(name: str, *, urgent: bool) -> None:
        await governor.enter(lane, 0, urgent=urgent)
        order.append(name)
        governor.leave(lane)

    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(call(f"answer {number}", urgent=False))
        for number in range(2):
            group.create_task(call(f"judge {number}", urgent=True))
        await asyncio.sleep(0)
        governor.leave(lane)

    assert order == ["judge 0", "judge 1", "answer 0", "answer 1", "answer 2"]


async def test_a_call_that_could_go_at_once_overtakes_nobody_who_waits() -> None:
    now = 100.0
    governor = Governor(Limits(requests_per_minute=60), clock=lambda: now)
    lane = governor.open_lane()
    assert governor.try_enter(lane, 0)
    waiting = asyncio.create_task(governor.enter(lane, 0))
    await asyncio.sleep(0)

    now += 2  # there is room for one

    assert not governor.try_enter(lane, 0)
    waiting.cancel()


async def test_budgets_and_meters_of_two_runs_are_separate() -> None:
    shared, provider = SharedCalls(), FakeProvider(endpoint=ENDPOINT)
    poor, rich = Calls(shared, budget=Budget(max_calls=2)), Calls(shared)
    clients = [calls.around(provider, entry()) for calls in (poor, rich)]

    outcomes = await asyncio.gather(
        *(client.complete(REQUEST) for client in clients for _ in range(5)), return_exceptions=True
    )

    assert sum(isinstance(outcome, BudgetSpentError) for outcome in outcomes) == 3
    assert (poor.meter.answers, rich.meter.answers) == (2, 5)


async def test_a_run_that_has_ended_leaves_nothing_behind() -> None:
    shared, provider = SharedCalls(), FakeProvider(endpoint=ENDPOINT)
    calls = Calls(shared)
    await calls.around(provider, entry()).complete(REQUEST)
    assert len(calls.meter.gauges) == 1

    calls.run.close()

    assert calls.meter.gauges == []


async def test_stopping_ends_waits_for_a_place_and_leaves_other_runs_alone() -> None:
    shared = SharedCalls()
    provider = FakeProvider(seconds=600, endpoint=ENDPOINT)
    stopped, other = Calls(shared), Calls(shared)
    sent = asyncio.create_task(stopped.around(provider, entry(max_concurrency=1)).complete(REQUEST))
    await becomes_true(lambda: provider.at_once == 1)
    waiting = asyncio.create_task(stopped.around(provider, entry()).complete(REQUEST))
    of_other = asyncio.create_task(other.around(provider, entry()).complete(REQUEST))
    await asyncio.sleep(0)

    stopped.run.stop()
    with pytest.raises(StoppedError, match="Resume the run"):
        await waiting

    assert not sent.done()
    assert not of_other.done()
    sent.cancel()
    await becomes_true(lambda: len(provider.tries) == 2)  # the other run's turn
    of_other.cancel()


async def test_stopping_ends_waits_for_the_next_try_and_the_budget() -> None:
    calls = Calls(budget=Budget(max_cost=1.0))
    provider = FakeProvider(RateLimitedError("slow down.", provider="svc", retry_after=60))
    retrying = asyncio.create_task(calls.around(provider, entry()).complete(REQUEST))
    await becomes_true(lambda: bool(calls.meter.retries))

    calls.run.stop()

    with pytest.raises(StoppedError):
        await retrying
    with pytest.raises(StoppedError):
        await calls.around(provider, entry()).complete(REQUEST)
    with pytest.raises(StoppedError):
        await calls.run.admission.start(1)
    assert len(provider.tries) == 1
    assert calls.meter.in_flight == 0


async def test_urgent_calls_are_made_although_the_run_is_stopped() -> None:
    calls, provider = Calls(), FakeProvider(RateLimitedError("slow down.", provider="svc", retry_after=0.01))
    judge = calls.around(provider, entry(), urgent=True)

    calls.run.stop()

    assert (await judge.complete(REQUEST)).tries == 2


async def test_a_call_that_was_not_sent_is_not_paid_for() -> None:
    budget = Budget(max_calls=2)
    calls, provider = Calls(budget=budget), FakeProvider(seconds=600)
    client = calls.around(provider, entry(max_concurrency=1))
    first, second = (asyncio.create_task(client.complete(REQUEST)) for _ in range(2))
    await becomes_true(lambda: provider.at_once == 1)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)

    assert budget.try_take()
    with pytest.raises(BudgetSpentError):
        budget.try_take()
    first.cancel()
