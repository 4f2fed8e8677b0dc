"""A try that fails although the service has billed it is in the books."""

from __future__ import annotations

import pytest
from calling import REQUEST, Calls, FakeProvider
from virtual_time import in_virtual_time

from prompt_evaluator.calls.budget import Budget
from prompt_evaluator.errors import BadReplyError, BudgetSpentError, UnavailableError
from prompt_evaluator.model import Limits, Price, ProviderSettings, Usage

PRICED = ProviderSettings(kind="test", prices={"m": Price(input=2.0, output=10.0)})
BILLED, ANSWERED = 0.005, 0.007
"""What 0 and 500 tokens cost, and 1,000 and 500."""


def billed() -> BadReplyError:
    error = BadReplyError("all tokens went into thinking.", provider="svc")
    error.usage = Usage(input_tokens=0, output_tokens=500)
    return error


@in_virtual_time
async def test_an_answer_costs_what_was_paid_for_all_its_tries() -> None:
    calls = Calls()

    answer = await calls.around(FakeProvider(billed(), billed()), PRICED).complete(REQUEST)

    assert answer.cost == pytest.approx(2 * BILLED + ANSWERED)
    assert answer.usage == Usage(input_tokens=1_000, output_tokens=500)


@in_virtual_time
async def test_the_meter_counts_its_tokens_and_its_cost_once() -> None:
    calls = Calls()

    await calls.around(FakeProvider(billed()), PRICED).complete(REQUEST)

    assert calls.meter.cost == pytest.approx(BILLED + ANSWERED)
    assert (calls.meter.input_tokens, calls.meter.output_tokens) == (1_000, 1_000)


@in_virtual_time
async def test_a_call_that_fails_in_the_end_says_what_it_has_cost() -> None:
    client = Calls().around(FakeProvider(*(billed() for _ in range(9))), PRICED)

    with pytest.raises(BadReplyError) as caught:
        await client.complete(REQUEST)

    assert caught.value.cost == pytest.approx(3 * BILLED)


@in_virtual_time
async def test_a_call_that_ends_with_another_failure_says_it_too() -> None:
    settings = ProviderSettings(kind="test", prices=PRICED.prices, limits=Limits(max_tries=2))
    client = Calls().around(FakeProvider(billed(), UnavailableError("down.", provider="svc")), settings)

    with pytest.raises(UnavailableError) as caught:
        await client.complete(REQUEST)

    assert caught.value.cost == pytest.approx(BILLED)


@in_virtual_time
async def test_a_failure_that_was_not_billed_has_no_cost() -> None:
    client = Calls().around(FakeProvider(*(BadReplyError("no.", provider="svc") for _ in range(3))), PRICED)

    with pytest.raises(BadReplyError) as caught:
        await client.complete(REQUEST)

    assert caught.value.cost is None


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
