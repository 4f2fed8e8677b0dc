"""The release harness's JSON task lists."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from placeless import placeless

from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import InputError
from prompt_evaluator.model import MetricUse, TestCase

if TYPE_CHECKING:
    from tests.datasets.conftest import Write


def cases(write: Write, *tasks: dict[str, Any]) -> list[TestCase]:
    return list(open_dataset(write("code.json", json.dumps(tasks))).cases)


def test_a_task_is_a_prompt_with_signals_and_triggers(write: Write) -> None:
    record = {
        "id": "fix-loop",
        "category": "debugging",
        "prompt": "Fix the loop.",
        "mustInclude": ["range(1, 11)"],
        "hallucinationTriggers": ["range_inclusive"],
    }

    assert placeless(cases(write, record)) == [
        TestCase(
            id="fix-loop",
            input="Fix the loop.",
            metadata={"category": "debugging"},
            checks=(
                MetricUse(metric="includes", options={"phrases": ["range(1, 11)"]}),
                MetricUse(metric="excludes", options={"phrases": ["range_inclusive"]}),
            ),
        )
    ]


@pytest.mark.parametrize("missing", [{}, {"id": None, "category": None}], ids=["absent", "null"])
def test_id_and_category_come_from_file_name_and_position(write: Write, missing: dict[str, None]) -> None:
    first, second = cases(write, {"prompt": "x"} | missing, {"prompt": "y"} | missing)

    assert (first.id, second.id) == ("code-1", "code-2")
    assert first.metadata == {"category": "code"}


def test_a_given_id_may_not_be_one_that_a_position_gives(write: Write) -> None:
    with pytest.raises(InputError, match="Duplicate test case ID 'code-2' found at index 1"):
        cases(write, {"id": "code-2", "prompt": "x"}, {"prompt": "y"})


@pytest.mark.parametrize("value", [None, []], ids=["null", "empty"])
def test_no_phrases_ask_for_nothing(write: Write, value: list[str] | None) -> None:
    (case,) = cases(write, {"prompt": "x", "mustInclude": value, "hallucinationTriggers": value})

    assert case.checks == ()


@each("field", ["mustInclude", "hallucinationTriggers"])
@each("value", ["word", [""], [" "], [7], [None], {"a": 1}, 7], ids=repr)
def test_phrases_are_a_list_of_texts_with_content(write: Write, field: str, value: object) -> None:
    with pytest.raises(InputError, match=f"index 0: {field} field validation failed") as caught:
        cases(write, {"prompt": "x", field: value})

    assert caught.value.field == field


def test_other_fields_are_metadata(write: Write) -> None:
    (case,) = cases(write, {"prompt": "x", "weight": 2, "metadata": {"owner": "web"}})

    assert case.metadata == {"weight": 2, "owner": "web", "category": "code"}


def test_every_problem_has_its_line(write: Write) -> None:
    found = survey(write("code.json", '[\n{"prompt": "x"},\n{"prompt": 7,\n "mustInclude": ""},\n5\n]'))

    assert [(problem.line, problem.index, problem.field) for problem in found.problems] == [
        (3, 1, "prompt"),
        (4, 1, "mustInclude"),
        (5, 2, None),
    ]
    assert (found.dialect, found.count) == ("harness", 1)
