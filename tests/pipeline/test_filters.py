from __future__ import annotations

from typing import Any

import pytest

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model import TestCase
from prompt_evaluator.pipeline.filters import check_ids, condition, select


def _case(case_id: str = "a", **metadata: Any) -> TestCase:
    return TestCase(id=case_id, input="?", metadata=metadata)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("text", ["", "=", "=v", "key", "  ", ">=3"])
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match="is no condition"):
        condition(text)


def test_a_limit_of_cases_stops_reading() -> None:
    def cases() -> Any:
        yield _case("a")
        yield _case("b")
        raise AssertionError("read too far")

    assert [case.id for case in select(cases(), max_cases=2)] == ["a", "b"]


def test_the_first_unknown_id_is_told_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match=r"'test-01'\. Did you mean 'test-001'"):
        check_ids(["other-1", "test-01"], ["test-001", "other-1"])


def test_an_id_that_is_near_to_nothing_does_not_list_thousands() -> None:
    with pytest.raises(UnknownNameError) as caught:
        check_ids(["@"], [f"case-{at}" for at in range(5_000)])

    assert len(str(caught.value)) < 300
