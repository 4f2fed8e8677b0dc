"""What a call costs: by the list of its service at that time, unless somebody knows better."""

from __future__ import annotations

import warnings
from datetime import UTC, date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import genai_prices
import pytest
from genai_prices.data import providers

import make_prices
from prompt_evaluator.model import Price, ProviderSettings, Usage
from prompt_evaluator.providers.price_table import SERVICES, PriceRow
from prompt_evaluator.providers.prices import Prices, current_prices, shipped_prices

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

NOON = datetime(2026, 11, 19, 12, tzinfo=UTC)
TIMES = {
    "in spring": datetime(2026, 4, 1, 12, tzinfo=UTC),
    "at noon": NOON,
    "at a busy hour": datetime(2026, 11, 19, 3, tzinfo=UTC),
    "after the last announced change": datetime(2027, 1, 1, 20, tzinfo=UTC),
}
ENTRY = ProviderSettings(kind="openai")
NAMES = {theirs: ours for ours, theirs in SERVICES.items()}
CALLS = [
    Usage(input_tokens=1_000, output_tokens=500),
    Usage(input_tokens=1_000, output_tokens=500, cached_tokens=300, cache_write_tokens=200),
    Usage(input_tokens=1_000_000, output_tokens=10, cached_tokens=600_000, cache_write_tokens=100_000),
]


def prices(provider: str, entry: ProviderSettings = ENTRY, when: datetime = NOON, **options: Any) -> Prices:
    return Prices(provider, entry, clock=lambda: when, **options)


def theirs(model: str, service: str, usage: Usage, when: datetime) -> float | None:
    """What genai-prices says; None if it does not know the model, or has no price for tokens."""
    counted = genai_prices.Usage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_read_tokens=usage.cached_tokens,
        cache_write_tokens=usage.cache_write_tokens,
    )
    try:
        found = genai_prices.calc_price(counted, model, provider_id=service, genai_request_timestamp=when)
    except LookupError:
        return None
    known = vars(found.model_price)
    return float(found.total_price) if {"input_mtok", "output_mtok"} <= known.keys() else None


@pytest.mark.parametrize("when", TIMES.values(), ids=TIMES)
def test_every_model_of_every_service_costs_what_genai_prices_says(when: datetime) -> None:
    models: list[tuple[str, ModelInfo]] = [(each.id, model) for each in providers for model in each.models]
    compared, other = 0, []
    with warnings.catch_warnings(action="ignore"):
        for service, model in models:
            if service not in NAMES or (expected := theirs(model.id, service, CALLS[0], when)) is None:
                continue
            known = prices(NAMES[service], when=when)
            for usage in CALLS:
                expected = theirs(model.id, service, usage, when)
                if known.cost(model.id, usage) != pytest.approx(expected):
                    other.append((service, model.id, usage))
            compared += 1

    assert other == []
    assert compared > 300


@pytest.mark.parametrize(
    ("service", "model", "when", "price"),
    [
        ("openai", "gpt-5.6-sol", "2026-08-20", (5, 30, 0.5, 6.25)),
        ("openai", "gpt-5.6-sol", "2026-08-21", (4, 20, 0.4, 5)),
        ("openai", "GPT-4o", "2026-11-19", (2.5, 10, 1.25, None)),
        ("openai", "openai/gpt-4o", "2026-11-19", (2.5, 10, 1.25, None)),
        ("anthropic", "claude-opus-5-5", "2026-11-19", (4, 20, 0.2, 5)),
        ("gemini", "models/gemini-3.8-flash", "2026-11-19", (0.75, 3.75, 0.075, None)),
        ("azure", "gpt-4.1", "2026-11-19", (2, 8, 0.5, None)),
    ],
)
def test_a_name_with_what_a_service_puts_in_front_has_the_price_of_the_day(
    service: str, model: str, when: str, price: tuple[float, ...]
) -> None:
    found = prices(service).of(model, datetime.fromisoformat(when).replace(tzinfo=UTC))

    assert found is not None
    assert (found.input, found.output, found.cached, found.cache_write) == price


def test_a_large_prompt_has_a_price_of_its_own() -> None:
    known = prices("openai")

    small, large = (known.of("gpt-5.6-sol", input_tokens=tokens) for tokens in (272_000, 272_001))

    assert (small, large) == (
        Price(input=4, output=20, cached=0.4, cache_write=5),
        Price(input=8, output=30, cached=0.8, cache_write=10),
    )


def test_hours_may_go_past_midnight() -> None:
    night = PriceRow("22:00-06:00", 0, 1, 1)

    assert [hour for hour in range(24) if night.applies(NOON.replace(hour=hour), 0)] == [*range(6), 22, 23]


USAGE = Usage(input_tokens=1_000_000, output_tokens=0, cached_tokens=500_000, cache_write_tokens=100_000)


@pytest.mark.parametrize(
    ("price", "cost"),
    [
        ({"input": 10, "output": 0}, 10.0),
        ({"input": 10, "output": 0, "cached": 1}, 5.5),
        ({"input": 10, "output": 0, "cached": 0, "cache_write": 12.5}, 5.25),
    ],
)
def test_cached_tokens_cost_what_the_price_says_and_else_what_others_do(price: dict[str, float], cost: float) -> None:
    entry = ProviderSettings(kind="openai", prices={"m": Price(**price)})

    assert prices("svc", entry).cost("m", USAGE) == pytest.approx(cost)


def test_a_configured_price_holds_over_what_the_service_states_and_that_over_its_list() -> None:
    stated = Usage(input_tokens=1_000_000, output_tokens=0, stated_cost=0.5)
    entry = ProviderSettings(kind="openai", prices={"gpt-4o": Price(input=7, output=0)})

    assert prices("openai", entry).cost("gpt-4o", stated) == pytest.approx(7)
    assert prices("openai").cost("gpt-4o", stated) == 0.5
    assert prices("openrouter").cost("any", Usage(stated_cost=0.5)) == 0.5


@pytest.mark.parametrize(
    ("service", "model"), [("openai", "never-heard-of"), ("somewhere", "gpt-4o"), ("openai", "whisper-1")]
)
def test_an_unknown_price_is_none_unless_one_is_assumed(service: str, model: str) -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=1_000_000)

    assert prices(service).of(model) is None
    assert prices(service).cost(model, usage) is None
    assert prices(service, assumed=Price(input=1, output=5)).cost(model, usage) == pytest.approx(6)


def test_an_assumption_changes_no_known_price_and_no_service_that_is_free() -> None:
    assumed = partial(prices, assumed=Price(input=99, output=99))

    assert assumed("openai").of("gpt-4o") == prices("openai").of("gpt-4o")
    assert assumed("ollama").of("llama3") == assumed("mock", ProviderSettings(kind="mock")).of("default")
    assert prices("ollama").of("llama3") == Price(input=0, output=0)


def test_a_deployment_has_the_price_of_the_model_behind_it() -> None:
    entry = ProviderSettings(kind="openai", base_model={"ours": "gpt-4o"})

    assert prices("company", entry, service="azure").of("ours") == prices("openai").of("gpt-4o")


def test_the_shipped_table_is_that_of_the_installed_package_with_its_license() -> None:
    shipped = shipped_prices().table

    assert make_prices.installed_prices(date.fromisoformat(shipped.as_of)) == shipped
    assert make_prices.FILE.stat().st_size < 130_000
    assert make_prices.NOTICE.read_text("utf-8") == make_prices.notice()
    assert current_prices() is shipped_prices()


@pytest.mark.parametrize(("days", "refused"), [(30, False), (31, True)])
def test_a_release_waits_for_prices_of_the_last_month(days: int, *, refused: bool) -> None:
    shipped = shipped_prices().table

    found = make_prices.problem(shipped, date.fromisoformat(shipped.as_of) + timedelta(days=days))

    assert (found is not None) == refused
