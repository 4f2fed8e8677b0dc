from __future__ import annotations

from typing import Any

import pytest
from entries import each
from hypothesis import given
from hypothesis import strategies as st
from scoring import answer, case, metric, score, value

from prompt_evaluator.metrics.numbers import Numeric
from prompt_evaluator.metrics.rule import Trial
from prompt_evaluator.model import Scored, Skipped, TestCase

NUMERIC: list[tuple[str, str, dict[str, Any], float]] = [
    ("42", "The answer is 42.", {}, 1.0),
    ("42", "First 7, then 42", {}, 1.0),
    ("42", "42, not 7", {}, 0.0),
    ("42", "42, not 7", {"pick": "first"}, 1.0),
    ("42", "It is 42.0", {}, 1.0),
    ("42", "none", {}, 0.0),
    ("1234567", "1,234,567 people", {}, 1.0),
    ("1,234.5", "1234.50 EUR", {}, 1.0),
    ("1234", "1\u202f234 km", {}, 1.0),
    ("1234", "1'234 CHF", {}, 1.0),
    ("3", "1, 2, 3", {}, 1.0),
    ("2", "1,2", {}, 1.0),
    ("-5", "minus: -5 degrees", {}, 1.0),
    ("-5", "\u22125 °C", {}, 1.0),
    ("-5", "it costs -$5", {}, 1.0),
    ("5", "- 5 apples", {}, 1.0),
    ("10", "5-10 minutes", {}, 1.0),
    ("5", "$5", {}, 1.0),
    ("0.5", "about .5", {}, 1.0),
    ("1500", "1.5e3 J", {}, 1.0),
    ("45%", "0.45", {}, 1.0),
    ("0.45", "45 %", {}, 1.0),
    ("45", "45%", {}, 1.0),
    ("45%", "46 %", {}, 0.0),
    ("4.5", "45%", {}, 0.0),
    ("7", "7 of H2O and B12", {}, 1.0),
    ("7", "7kg", {}, 1.0),
    ("3.1", "3.2", {"abs_tolerance": 0.1}, 1.0),
    ("3.1", "3.21", {"abs_tolerance": 0.1}, 0.0),
    ("200", "210", {"rel_tolerance": 0.05}, 1.0),
    ("200", "211", {"rel_tolerance": 0.05}, 0.0),
    ("1234,5", "1.234,5 Euro", {"decimal_comma": True}, 1.0),
    ("3,14", "3,14", {"decimal_comma": True}, 1.0),
    ("x", "9", {"expected": 9}, 1.0),
    ("1", "9" * 400, {}, 0.0),
    ("80", "at 80 degrees", {}, 1.0),
]


@each(("reference", "text", "options", "expected"), NUMERIC)
async def test_a_number_is_found_and_compared(
    reference: str, text: str, options: dict[str, Any], expected: float
) -> None:
    assert await value("numeric", text, on=case(reference), **options) == expected


@given(st.integers(-(10**9), 10**9), st.booleans())
def test_any_integer_is_read_with_and_without_separators(number: int, grouped: bool) -> None:  # noqa: FBT001
    text = f"so, {number:,} it is" if grouped else f"so, {number} it is"

    found = Numeric(expected=number).assess(Trial(case(), answer(text)))

    assert isinstance(found, Scored)
    assert found.value == 1


@given(st.text(alphabet="0123456789.,-+e%$ _'x\n", max_size=40), st.booleans())
def test_no_text_breaks_the_search_for_numbers(text: str, comma: bool) -> None:  # noqa: FBT001
    found = Numeric(expected=1, decimal_comma=comma).assess(Trial(case(), answer(text)))

    assert isinstance(found, Scored)


async def test_what_cannot_be_compared_is_skipped() -> None:
    assert await score("numeric", "3") == Skipped("the case has no reference")
    assert await score("numeric", "3", on=case("three")) == Skipped("the reference has no number")


async def test_the_reason_shows_both_numbers_as_written() -> None:
    found = await score("numeric", "about 1,250 km", on=case("1,300 km"))

    assert found == Scored(0.0, "expected 1,300, got 1,250", {"expected": 1300.0, "found": 1250.0})


@each(
    ("text", "options", "expected"),
    [
        ("one two three", {"max_words": 3}, 1.0),
        ("one two three", {"max_words": 2}, 0.0),
        ("one two three", {"min_words": 4}, 0.0),
        ("one two three", {"min_words": 3, "max_words": 3}, 1.0),
        ("  abc ", {"max_characters": 3, "min_characters": 3}, 1.0),
        ("abcd", {"max_characters": 3, "min_words": 1}, 0.0),
        ("", {"min_characters": 1}, 0.0),
    ],
)
async def test_length_is_counted_in_words_and_characters(text: str, options: dict[str, Any], expected: float) -> None:
    assert await value("length", text, **options) == expected


async def test_a_wrong_length_is_explained() -> None:
    found = await score("length", "one two three", max_words=2)

    assert isinstance(found, Scored)
    assert found.reason == "3 words, expected at most 2"


@each(
    ("name", "options", "others", "expected"),
    [
        ("latency", {"max_ms": 100}, {"latency_ms": 100.0}, Scored(1.0)),
        ("latency", {"max_ms": 100}, {"latency_ms": 101.0}, Scored(0.0, "it took 101 ms, expected at most 100")),
        ("latency", {}, {}, Skipped("the case gives no max_ms")),
        ("cost", {"max_usd": 0.01}, {"cost": 0.01}, Scored(1.0)),
        ("cost", {"max_usd": 0.01}, {"cost": 0.02}, Scored(0.0, "it cost $0.020000, expected at most $0.010000")),
        ("cost", {"max_usd": 0.01}, {"cost": None}, Skipped("the cost of the answer is unknown")),
        ("cost", {"max_usd": 0.01}, {"cost": 0.0}, Scored(1.0)),
        ("cost", {}, {"cost": 1.0}, Skipped("the case gives no max_usd")),
    ],
)
async def test_time_and_price_have_limits(
    name: str, options: dict[str, Any], others: dict[str, Any], expected: Scored | Skipped
) -> None:
    assert await metric(name, **options).score(case(), answer("x", **others), None) == expected


@pytest.mark.parametrize(("text", "expected"), [("it is 7", 1.0), ("it is 42", 1.0), ("it is 8", 0.0)])
async def test_of_several_references_any_number_is_right(text: str, expected: float) -> None:
    on = TestCase(id="a", input="?", reference="42", references=("seven", "7"))

    assert await value("numeric", text, on=on) == expected
