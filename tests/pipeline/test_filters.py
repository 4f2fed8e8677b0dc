from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import TestCase
from prompt_evaluator.pipeline.filters import Selection, condition

if TYPE_CHECKING:
    from collections.abc import Iterator


def _case(case_id: str = "a", **metadata: Any) -> TestCase:
    return TestCase(id=case_id, input="?", metadata=metadata)


@each(
    ("text", "metadata", "passes"),
    [
        ("k=v", {"k": "v"}, True),
        ("k=v", {"k": "V"}, False),
        ("k=", {"k": ""}, True),
        ("k=a=b", {"k": "a=b"}, True),
        (" k = v ", {"k": "v "}, True),
        ("k=1", {"k": 1}, True),
        ("k=1.0", {"k": 1}, True),
        ("k=1", {"k": "1"}, True),
        ("k=1", {"k": True}, False),
        ("k=TRUE", {"k": True}, True),
        ("k=false", {"k": False}, True),
        ("k=null", {"k": None}, True),
        ("k=null", {}, True),
        ("k=", {}, False),
        ("k!=v", {}, True),
        ("k!=v", {"k": ["v", "w"]}, False),
        ("k=w", {"k": ["v", "w"]}, True),
        ("k>1", {"k": [0, 2]}, True),
        ("k>10", {"k": 9}, False),
        ("k>=9.5", {"k": 9.5}, True),
        ("k<x", {"k": 3}, False),
        ("k<2", {"k": True}, False),
        ("k<2", {}, False),
        ("date>=2025-01-01", {"date": "2025-06-30"}, True),
        ("a.b.c=1", {"a": {"b": {"c": 1}}}, True),
        ("a.b=1", {"a.b": 1}, True),
        ("a.b=1", {"a": [1]}, False),
        ("a.b=1", {"a": "b"}, False),
    ],
)
def test_a_condition_on_metadata(text: str, metadata: dict[str, Any], *, passes: bool) -> None:
    assert condition(text)(_case(**metadata)) is passes


@each("text", ["", "=", "=v", "key", "  ", ">=3"])
def test_a_text_that_is_not_a_condition_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a condition"):
        condition(text)


def test_a_condition_is_refused_before_any_case_is_read() -> None:
    with pytest.raises(ConfigurationError, match="is not a condition"):
        Selection(where=["key"])


def test_cases_after_the_limit_are_read_but_not_selected() -> None:
    read: list[str] = []

    def cases() -> Iterator[TestCase]:
        for case_id in "abc":
            read.append(case_id)
            yield _case(case_id)

    assert [case.id for case in Selection(max_cases=2).of(cases())] == ["a", "b"]
    assert read == ["a", "b", "c"]


def test_the_limit_counts_cases_that_pass_the_other_filters() -> None:
    cases = [_case("a", k=1), _case("b", k=2), _case("c", k=2), _case("d", k=2)]

    found = Selection(case_ids=["a", "c", "d"], where=["k=2"], max_cases=1).of(cases)

    assert [case.id for case in found] == ["c"]


def _refuse_unknown(case_ids: list[str], known: list[str]) -> None:
    selection = Selection(case_ids=case_ids)
    assert {case.id for case in selection.of(map(_case, known))} == {*case_ids} & {*known}
    selection.refuse_unknown(lambda: map(_case, known))


def test_the_first_unknown_id_is_reported_with_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match=r"'test-01'\. Did you mean 'test-001'"):
        _refuse_unknown(["other-1", "test-01"], ["test-001", "other-1"])


def test_an_id_that_resembles_no_other_does_not_list_thousands() -> None:
    with pytest.raises(UnknownNameError) as caught:
        _refuse_unknown(["@"], [f"case-{at}" for at in range(5_000)])

    assert len(str(caught.value)) < 300
    assert str(caught.value).endswith(" and 4,980 more.")


def _refusal(where: str, cases: list[TestCase], **others: Any) -> str:
    selection = Selection(where=[where], **others)
    list(selection.of(cases))
    with pytest.raises(ConfigurationError) as caught:
        selection.refuse_unknown(lambda: cases)
    return str(caught.value)


TOPICS = [_case("a", topic="returns", level=2, shop={"country": "pt"}), _case("b", topic="billing", tags=["x", "y"])]


def test_a_field_that_no_case_has_is_named_if_nothing_passes() -> None:
    assert _refusal("topc=returns", TOPICS) == "There is no field 'topc': no case has it."
    assert _refusal("shop.contry=pt", TOPICS) == "There is no field 'shop.contry': no case has it."


@each("where", [["other!=1"], ["level=2", "topic=billing"], ["topic=returns"], ["level=null"]])
def test_a_condition_that_some_case_passes_is_not_refused(where: list[str]) -> None:
    selection = Selection(where=where)
    passed = [case.id for case in selection.of(TOPICS)]

    selection.refuse_unknown(lambda: TOPICS)

    assert passed == [case.id for case in TOPICS if all(condition(text)(case) for text in where)]


def test_an_id_that_other_filters_leave_out_is_known() -> None:
    selection = Selection(case_ids=["a", "b"], where=["k=1"], max_cases=1)
    found = list(selection.of([_case("a", k=1), _case("b", k=2)]))

    selection.refuse_unknown(lambda: pytest.fail("nothing is unknown"))

    assert [case.id for case in found] == ["a"]
