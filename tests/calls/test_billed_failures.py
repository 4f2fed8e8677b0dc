"""A try that fails although the service has billed it is in the books."""

from __future__ import annotations

import pytest
from calling import REQUEST, Calls, FakeProvider
from entries import each
from virtual_time import in_virtual_time

from prompt_evaluator.calls.budget import Budget
from prompt_evaluator.errors import BadReplyError, BudgetSpentError, ProviderError, UnavailableError
from prompt_evaluator.model import Price, ProviderSettings, Usage

PRICED = ProviderSettings(kind="test", prices={"m": Price(input=2.0, output=10.0)})
BILLED, ANSWERED = 0.005, 0.007
"""What 0 and 500 tokens cost, and 1,000 and 500."""


def billed() -> BadReplyError:
    error = BadReplyError("all tokens went into thinking.", provider="svc")
    error.usage = Usage(input_tokens=0, output_tokens=500)
    return error


@in_virtual_time
async def test_an_answer_costs_what_was_paid_for_all_its_tries_and_the_meter_counts_it_once() -> None:
    calls = Calls()

    answer = await calls.around(FakeProvider(billed(), billed()), PRICED).complete(REQUEST)

    assert answer.cost == calls.meter.cost == pytest.approx(2 * BILLED + ANSWERED)
    assert answer.usage == Usage(input_tokens=1_000, output_tokens=500)
    assert (calls.meter.input_tokens, calls.meter.output_tokens) == (1_000, 1_500)


DOWN = UnavailableError("down.", provider="svc")
NOT_BILLED = BadReplyError("no.", provider="svc")


@each(
    ("errors", "cost"),
    [([billed() for _ in range(9)], 3 * BILLED), ([billed(), *[DOWN] * 9], BILLED), ([NOT_BILLED] * 9, None)],
    ids=["billed", "another failure in the end", "not billed"],
)
@in_virtual_time
async def test_a_call_that_fails_in_the_end_says_what_it_has_cost(errors: list[ProviderError], cost: float) -> None:
    with pytest.raises(ProviderError) as caught:
        await Calls().around(FakeProvider(*errors), PRICED).complete(REQUEST)

    assert caught.value.cost == (pytest.approx(cost) if cost else None)


@in_virtual_time
async def test_it_counts_against_the_budget() -> None:
    budget = Budget(max_cost=2.5 * BILLED)
    client = Calls(budget=budget).around(FakeProvider(*(billed() for _ in range(9))), PRICED)

    with pytest.raises(BudgetSpentError, match=r"\$0\.0100 has been spent") as caught:
        await client.complete(REQUEST)

    assert caught.value.cost == pytest.approx(2 * BILLED)


@in_virtual_time
async def test_without_a_price_it_is_counted_as_unpriced() -> None:
    calls = Calls()

    answer = await calls.around(FakeProvider(billed()), ProviderSettings(kind="test")).complete(REQUEST)

    assert (answer.cost, calls.meter.unpriced) == (None, 2)
