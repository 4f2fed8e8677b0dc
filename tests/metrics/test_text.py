from __future__ import annotations

from typing import Any

import pytest
from entries import each
from scoring import answer, case, metric, score, value

from prompt_evaluator.model import Failed, MetricUse, Scored, Skipped, TestCase

PHRASES: list[tuple[str, str, dict[str, Any], float]] = [
    ("includes", "Green Tea, hot.", {"phrases": ["green tea", "HOT"]}, 1.0),
    ("includes", "Green tea.", {"phrases": ["green", "cold"]}, 0.5),
    ("includes", "Green tea.", {"phrases": ["green"], "case_sensitive": True}, 0.0),
    ("includes", "a catalogue", {"phrases": ["cat"]}, 1.0),
    ("includes", "a catalogue", {"phrases": ["cat"], "whole_words": True}, 0.0),
    ("includes", "a cat, a dog", {"phrases": ["CAT"], "whole_words": True}, 1.0),
    ("includes", "in C++ it is", {"phrases": ["c++"], "whole_words": True}, 1.0),
    ("includes", "the price (a.b)", {"phrases": ["(a.b)"], "whole_words": True}, 1.0),
    ("includes", "axb", {"phrases": ["a.b"], "whole_words": True}, 0.0),
    ("includes", "Straße", {"text": "STRASSE"}, 1.0),
    ("includes", "cafe\u0301", {"text": "caf\u00e9", "case_sensitive": True}, 1.0),
    ("includes", "", {"text": "x"}, 0.0),
    ("contains", "Green", {"text": "green"}, 0.0),
    ("contains", "Green", {"text": "Green"}, 1.0),
    ("icontains", "Green", {"text": "green"}, 1.0),
    ("includes", "hot tea", {"phrases": ["tea", "coffee"], "any": True}, 1.0),
    ("includes", "water", {"phrases": ["tea", "coffee"], "any": True}, 0.0),
    ("includes", "hot tea", {"phrases": ["coffee"], "text": "TEA", "any": True}, 1.0),
    ("contains", "hot tea", {"phrases": ["tea", "coffee"], "any": True}, 1.0),
    ("contains", "hot tea", {"phrases": ["Tea", "Coffee"], "any": True}, 0.0),
    ("icontains", "hot tea", {"phrases": ["Tea", "Coffee"], "any": True}, 1.0),
    ("excludes", "all fine", {"phrases": ["guarantee", "never"]}, 1.0),
    ("excludes", "I Guarantee it", {"phrases": ["guarantee", "never"]}, 0.0),
    ("excludes", "never and guarantee", {"phrases": ["guarantee", "never"]}, 0.0),
    ("excludes", "nevertheless", {"text": "never", "whole_words": True}, 1.0),
    ("not_contains", "fine", {"text": "bad"}, 1.0),
    ("not_contains", "Bad", {"text": "bad"}, 0.0),
    ("starts_with", "  Dear Ann", {"prefix": "Dear"}, 1.0),
    ("starts_with", "  Dear Ann", {"prefix": "Dear", "strip": False}, 0.0),
    ("starts_with", "dear Ann", {"prefix": "Dear"}, 0.0),
    ("starts_with", "dear Ann", {"prefix": "Dear", "ignore_case": True}, 1.0),
    ("starts_with", "De", {"prefix": "Dear"}, 0.0),
]


@each(("name", "text", "options", "expected"), PHRASES)
async def test_phrases_are_found_as_the_options_say(
    name: str, text: str, options: dict[str, Any], expected: float
) -> None:
    assert await value(name, text, **options) == expected


EXACT: list[tuple[str, str, dict[str, Any], float]] = [
    ("Paris", "Paris", {}, 1.0),
    ("Paris", " Paris\n", {}, 1.0),
    ("Paris", " Paris\n", {"strip": False}, 0.0),
    ("Paris", "paris", {}, 0.0),
    ("Paris", "PARIS", {"ignore_case": True}, 1.0),
    ("a b", "a \n b", {}, 0.0),
    ("a b", "a \n b", {"ignore_whitespace": True}, 1.0),
    ("ab", "a b", {"ignore_whitespace": True}, 0.0),
    ("", "", {}, 1.0),
    ("Paris", "", {}, 0.0),
    ("Paris", "Paris.", {}, 0.0),
    ("Paris", "London", {"expected": "London"}, 1.0),
]


@each(("reference", "text", "options", "expected"), EXACT)
async def test_an_exact_match_is_the_reference(
    reference: str, text: str, options: dict[str, Any], expected: float
) -> None:
    assert await value("exact_match", text, on=case(reference), **options) == expected


@each(
    ("name", "text", "options", "reason"),
    [
        ("includes", "a", {"phrases": ["a", "x", "y"]}, "missing: 'x', 'y'"),
        ("includes", "a", {"phrases": ["x", "y"], "any": True}, "none of: 'x', 'y'"),
        ("includes", "x", {"phrases": ["x", "y"], "any": True}, ""),
        ("excludes", "a b", {"phrases": ["a", "b", "c"]}, "found: 'a', 'b'"),
        ("starts_with", "Hello there", {"prefix": "Dear"}, "it begins with 'Hello there'"),
        ("exact_match", "abX", {"expected": "abc"}, "from character 3 on, expected 'c', got 'X'"),
        ("exact_match", "abc and more", {"expected": "abc"}, "from character 4 on, expected '', got ' and more'"),
        ("exact_match", "", {"expected": "abc"}, "the answer is empty"),
    ],
)
async def test_the_reason_says_what_is_wrong(name: str, text: str, options: dict[str, Any], reason: str) -> None:
    found = await score(name, text, **options)

    assert isinstance(found, Scored)
    assert found.reason == reason


async def test_a_long_list_of_missing_phrases_is_cut() -> None:
    found = await score("includes", "", phrases=[f"p{n}" for n in range(30)])

    assert isinstance(found, Scored)
    assert found.reason.endswith("'p9' and 20 more")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("includes", "the case gives no phrases"),
        ("excludes", "the case gives no phrases"),
        ("starts_with", "the case gives no prefix"),
        ("exact_match", "the case has no reference"),
        ("signals", "the case has neither includes nor excludes"),
    ],
)
async def test_a_case_without_what_is_needed_is_skipped(name: str, reason: str) -> None:
    assert await score(name, "x") == Skipped(reason)


INCLUDES = MetricUse(metric="includes", options={"phrases": ["Tea", "hot"]})
EXCLUDES = MetricUse(metric="excludes", options={"phrases": ["brand"]})


@pytest.mark.parametrize(
    ("text", "expected", "reason"),
    [
        ("hot tea", 1.0, ""),
        ("tea", 0.0, "missing: 'hot'"),
        ("hot tea of a Brand", 0.0, "forbidden: 'brand'"),
        ("a brand", 0.0, "missing: 'Tea', 'hot'; forbidden: 'brand'"),
    ],
)
async def test_signals_are_all_includes_and_no_excludes(text: str, expected: float, reason: str) -> None:
    found = await score("signals", text, on=case(None, INCLUDES, EXCLUDES))

    assert isinstance(found, Scored)
    assert (found.value, found.reason) == (expected, reason)


async def test_signals_do_with_one_of_the_two_and_see_aliases() -> None:
    alias = MetricUse(metric="not_contains", options={"text": "brand"})

    assert await value("signals", "hot TEA", on=case(None, INCLUDES)) == 1
    assert await value("signals", "a brand", on=case(None, alias)) == 0
    assert await value("signals", "tea", includes=["tea"], excludes=["x"]) == 1


async def test_signals_that_the_case_spells_wrong_are_a_failure() -> None:
    found = await score("signals", "x", on=case(None, MetricUse(metric="includes", options={"phrase": ["x"]})))

    assert isinstance(found, Failed)
    assert "Did you mean 'phrases'?" in found.reason


ANY = MetricUse(metric="includes", options={"phrases": ["tea", "coffee"], "any": True})


@pytest.mark.parametrize(("text", "expected"), [("hot tea", ""), ("water", "missing: 'tea', 'coffee'")])
async def test_signals_are_content_with_one_phrase_where_one_is_enough(text: str, expected: str) -> None:
    found = await score("signals", text, on=case(None, ANY))

    assert isinstance(found, Scored)
    assert found.reason == expected


async def test_signals_leave_negated_uses_alone() -> None:
    negated = MetricUse(metric="includes", negated=True, options={"phrases": ["brand"]})

    assert await value("signals", "hot tea", on=case(None, INCLUDES, negated)) == 1
    assert await score("signals", "hot tea", on=case(None, negated)) == Skipped(
        "the case has neither includes nor excludes"
    )


@pytest.mark.parametrize(("text", "expected"), [("Paris", 1.0), (" paris", 0.0), ("Lutetia\n", 1.0), ("Rome", 0.0)])
async def test_an_exact_match_is_any_of_several_references(text: str, expected: float) -> None:
    on = TestCase(id="a", input="?", reference="Paris", references=("Lutetia", "City of Light"))

    assert await value("exact_match", text, on=on) == expected


async def test_references_are_enough_if_there_is_no_reference() -> None:
    assert await value("exact_match", "Lutetia", on=TestCase(id="a", input="?", references=("Lutetia",))) == 1


async def test_an_expected_text_replaces_all_references() -> None:
    on = TestCase(id="a", input="?", reference="Paris", references=("Lutetia",))

    assert await value("exact_match", "Paris", on=on, expected="Rome") == 0


# How an answer ended


@each("reason", ["stop", "STOP", "end_turn", "stop_sequence", "tool_calls", "tool_use"])
async def test_an_answer_that_came_to_its_end_passes(reason: str) -> None:
    assert await metric("finish_reason").score(case(), answer("x", finish_reason=reason), None) == Scored(1.0)


@pytest.mark.parametrize("reason", ["length", "MAX_TOKENS", "content_filter", ""])
async def test_an_answer_that_was_cut_off_or_blocked_does_not_pass(reason: str) -> None:
    found = await metric("finish_reason").score(case(), answer("x", finish_reason=reason), None)

    assert isinstance(found, Scored)
    assert found.value == 0
    assert found.reason.startswith(f"it ended with {reason!r}, not with 'stop'")


async def test_an_answer_whose_end_is_not_known_is_skipped() -> None:
    assert await score("finish_reason", "x") == Skipped("the service gave no finish reason")


async def test_other_finish_reasons_may_be_allowed() -> None:
    blocked = metric("finish_reason", allowed=["Content_Filter"])

    assert await blocked.score(case(), answer("x", finish_reason="content_filter"), None) == Scored(1.0)
    assert await blocked.score(case(), answer("x", finish_reason="stop"), None) == Scored(
        0.0, "it ended with 'stop', not with 'Content_Filter'"
    )
