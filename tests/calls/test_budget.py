"""Nobody pays for more than was allowed, and a budget lets in whole samples: what has begun is also judged."""

from __future__ import annotations

import asyncio
import contextvars
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from calling import REQUEST, Calls, FakeProvider
from entries import each

from prompt_evaluator.calls.budget import Budget
from prompt_evaluator.errors import BudgetSpentError, ProviderError, UnavailableError
from prompt_evaluator.model import Limits, Price, ProviderSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK = Limits(first_backoff=0.001, max_tries=3)


class Desk:
    """Workers that make samples of an answer and a judgement each, as a run does."""

    def __init__(self, provider: FakeProvider, budget: Budget, *, calls: int = 2) -> None:
        self._calls = Calls(budget=budget)
        entry = ProviderSettings(kind="test", limits=QUICK, prices={"m": Price(input=0.0, output=20.0)})
        self._generator = self._calls.around(provider, entry)
        self._judge = self._calls.around(provider, entry, urgent=True)
        self._expected = calls
        self.started = self.judged = 0
        self.refusals: list[str] = []

    async def work(self, samples: int, workers: int = 20) -> None:
        left = iter(range(samples))
        await asyncio.gather(*(self._worker(left) for _ in range(workers)))

    async def _worker(self, left: Iterator[int]) -> None:
        admission = self._calls.run.admission
        for _ in left:
            try:
                await admission.start(self._expected)
            except BudgetSpentError as error:
                self.refusals.append(str(error))
                return
            self.started += 1
            with suppress(ProviderError, BudgetSpentError):
                await self._generator.complete(REQUEST)
                await self._judge.complete(REQUEST)
                self.judged += 1
            admission.end()


@each("workers", [1, 7, 64])
async def test_every_sample_that_begins_is_also_judged(workers: int) -> None:
    provider = FakeProvider()
    desk = Desk(provider, Budget(max_calls=60))

    await desk.work(100, workers)

    assert (desk.started, desk.judged, len(provider.tries)) == (30, 30, 60)
    assert set(desk.refusals) == {"The budget of 60 calls is used up."}


@each(
    ("limits", "expected", "judged", "said"),
    [
        ({"max_calls": 5}, 2, 2, "5 calls ... 4 are used, and the next takes about 2."),
        ({"max_calls": 60}, 6, 28, "60 calls ... 56 are used, and the next takes about 6."),  # not before four are left
        ({"max_calls": 41}, 1, 20, "41 calls ... 40 are used, and the next takes about 2."),  # what others took
        ({"max_cost": 0.61}, 2, 30, "$0.6100 ... $0.6000 has been spent, and the next costs about $0.0200."),
    ],
)
async def test_samples_begin_while_what_is_left_covers_what_they_are_expected_to_take(
    limits: dict[str, Any], expected: int, judged: int, said: str
) -> None:
    provider = FakeProvider()  # a cent for each call
    desk = Desk(provider, Budget(**limits), calls=expected)

    await desk.work(100, workers=1 if expected == 1 else 20)

    assert (desk.started, desk.judged, len(provider.tries)) == (judged, judged, 2 * judged)
    assert set(desk.refusals) == {f"The budget of {said.replace('...', 'allows no further sample:')}"}


@each(("failures", "judged"), [(1, 28), (9, 20), (200, 0)])
async def test_retries_and_failures_never_make_a_run_wait_for_ever_or_spend_more(failures: int, judged: int) -> None:
    provider = FakeProvider(*(UnavailableError("down.", provider="svc") for _ in range(failures)))
    desk = Desk(provider, Budget(max_calls=60))

    async with asyncio.timeout(30):
        await desk.work(100)

    assert len(provider.tries) <= 60
    assert desk.refusals
    assert desk.judged >= judged


async def test_calls_outside_samples_are_counted_and_leave_what_is_set_aside() -> None:
    budget = Budget(max_calls=4)
    assert budget.try_start_sample(2)
    outside = contextvars.Context()

    assert [outside.run(budget.try_take) for _ in range(2)] == [True, True]
    assert not outside.run(budget.try_take)  # two are set aside, and two under way
    assert budget.try_take()
    assert budget.try_take()
    with pytest.raises(BudgetSpentError):
        outside.run(budget.try_take)


async def test_what_is_set_aside_is_used_when_nothing_under_way_could_give_any_back() -> None:
    budget = Budget(max_calls=2)
    assert budget.try_start_sample(2)

    assert contextvars.Context().run(budget.try_take)


async def test_a_sample_of_which_everything_is_there_needs_no_budget() -> None:
    budget = Budget(max_calls=1)
    assert budget.try_take()
    budget.settle()

    assert budget.try_start_sample(0)


async def test_only_a_few_samples_begin_before_one_has_told_its_cost() -> None:
    budget = Budget(max_cost=100.0)

    assert [contextvars.copy_context().run(budget.try_start_sample, 2) for _ in range(6)] == [True] * 4 + [False] * 2


async def test_a_run_without_a_budget_admits_every_sample() -> None:
    desk = Desk(FakeProvider(), Budget())

    await desk.work(100)

    assert desk.judged == 100


def test_the_first_calls_are_reckoned_with_before_any_has_told_its_price() -> None:
    budget = Budget(max_cost=1.0)

    assert [budget.try_take(guess=0.25) for _ in range(5)] == [True] * 4 + [False]


async def test_a_call_waits_for_those_under_way_before_it_is_refused() -> None:
    budget = Budget(max_cost=1.0)
    await budget.take(guess=0.9)
    waiting = [asyncio.create_task(budget.take(guess=0.9)) for _ in range(20)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)

    budget.pay(None, 0.1)
    budget.settle()

    await asyncio.sleep(0.01)
    assert sum(task.done() for task in waiting) == 9
    for _ in range(9):
        budget.pay(None, 0.1)
        budget.settle()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes].count(BudgetSpentError) == 11


def test_ten_calls_of_ten_cents_are_a_dollar() -> None:
    budget = Budget(max_cost=1.0)

    for _ in range(10):
        assert budget.try_take()
        budget.pay(None, 0.1)
        budget.settle()
    with pytest.raises(BudgetSpentError, match=r"\$1\.0000 has been spent, and the next costs about \$0\.1000"):
        budget.try_take()


def test_a_call_that_failed_gives_back_what_was_set_aside() -> None:
    budget = Budget(max_cost=1.0)

    for _ in range(100):
        assert budget.try_take(guess=0.9)
        budget.pay(None, None)
        budget.settle()


def test_a_call_that_timed_out_is_reckoned_with_as_paid() -> None:
    budget = Budget(max_cost=1.0)
    assert budget.try_take(guess=0.4)
    budget.pay(None, 0.4)
    budget.settle()

    assert budget.try_take()
    budget.may_have_paid(None)
    budget.settle()

    said = r"\$0\.8000 has been spent \(including up to \$0\.4000 on tries that timed out\), and the next"
    with pytest.raises(BudgetSpentError, match=said):
        budget.try_take()


def test_nothing_may_be_paid_from_a_budget_of_nothing() -> None:
    budget = Budget(max_cost=0.0)

    assert budget.try_take(guess=0.0)
    budget.settle()
    with pytest.raises(BudgetSpentError):
        budget.try_take(guess=0.001)
