"""What one process may spend of budgets that others spend, too."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest
from in_memory_limits import InMemoryLimits

from prompt_evaluator.errors import BudgetSpentError, StoreError
from prompt_evaluator.providers.calls.allowance import Allowance
from prompt_evaluator.providers.calls.budget import Budget
from prompt_evaluator.providers.calls.shared_key import StoreThread

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

DAY, MONTH = "day 2026-01-31", "month 2026-01"


@pytest.fixture
async def thread() -> AsyncIterator[StoreThread]:
    thread = StoreThread()
    yield thread
    await thread.close()


def budget(limits: InMemoryLimits, thread: StoreThread, patience: float = 30, **most: float) -> Budget:
    today = datetime(2026, 1, 31, tzinfo=UTC)
    return Budget(allowance=Allowance(most, lambda: limits, lambda: thread, lambda: today, patience))  # type: ignore[arg-type] # day, month


async def call(own: Budget, cost: float, guess: float) -> None:
    await own.take("kind", guess)
    own.pay("kind", cost)
    own.settle("kind")


async def test_a_budget_is_spent_to_the_last_call_and_what_is_left_over_returned(thread: StoreThread) -> None:
    limits = InMemoryLimits()
    own = budget(limits, thread, day=1.0, month=20.0)

    for _ in range(33):
        await call(own, 0.03, guess=0.4)
    with pytest.raises(BudgetSpentError, match=r"The budget of \$1.00 per day for all runs is used up: \$0.99"):
        await call(own, 0.03, guess=0.4)
    own.release()
    await thread.drain()

    assert limits.budgets == pytest.approx({DAY: 0.99, MONTH: 0.99})


async def test_what_was_reserved_for_calls_that_cost_less_goes_back_at_once(thread: StoreThread) -> None:
    limits = InMemoryLimits()
    own = budget(limits, thread, day=1.0)
    await call(own, 0.001, guess=0.9)
    await call(own, 0.001, guess=0.9)
    await thread.drain()

    assert limits.budgets[DAY] < 0.02


async def test_a_month_that_is_used_up_takes_nothing_from_the_day(thread: StoreThread) -> None:
    limits = InMemoryLimits()
    limits.budgets[MONTH] = 20.0
    own = budget(limits, thread, day=1.0, month=20.0)

    with pytest.raises(BudgetSpentError, match=r"per month .* on the first of the month"):
        await call(own, 0.03, guess=0.03)

    assert limits.budgets == pytest.approx({DAY: 0.0, MONTH: 20.0})


async def test_few_questions_are_asked_of_the_store(thread: StoreThread) -> None:
    limits = InMemoryLimits()
    own = budget(limits, thread, day=1.0)
    for _ in range(5_000):
        await call(own, 0.0001, guess=0.0001)

    assert limits.asked < 250


async def test_without_the_store_nothing_is_spent_and_the_run_ends(thread: StoreThread) -> None:
    limits = InMemoryLimits()
    limits.fails = True
    own = budget(limits, thread, day=1.0, patience=0.2)

    with pytest.raises(StoreError, match="cannot be used"):
        await call(own, 0.03, guess=0.03)

    assert limits.asked > 1


async def test_a_store_that_is_back_in_time_is_used(thread: StoreThread) -> None:
    limits = InMemoryLimits()
    limits.fails = True
    own = budget(limits, thread, day=1.0)
    waiting = asyncio.create_task(call(own, 0.03, guess=0.03))
    await asyncio.sleep(0.05)
    limits.fails = False

    await asyncio.wait_for(waiting, 30)
