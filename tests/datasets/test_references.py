"""`references`: further ideal answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from entries import each

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import InputError

if TYPE_CHECKING:
    from tests.datasets.conftest import Write

CASE = {"id": "a", "input": "x"}
TASK = {**CASE, "name": "n", "expected_output": "first"}


@pytest.mark.parametrize("name", ["d.jsonl", "d.yaml"])
def test_a_list_of_texts_is_further_ideal_answers(write: Write, name: str) -> None:
    record = {**CASE, "reference": "first", "references": ["second", "third"]}
    (case,) = open_dataset(write(name, json.dumps(record) if name == "d.jsonl" else yaml.safe_dump([record]))).cases

    assert case.all_references == ("first", "second", "third")
    assert case.metadata == {}


def test_a_benchmark_has_them_beside_the_expected_output(write: Write) -> None:
    (case,) = open_dataset(write("b.yaml", yaml.safe_dump({"tasks": [{**TASK, "references": ["second"]}]}))).cases

    assert case.all_references == ("first", "second")
    assert "references" not in case.metadata


WRONG: list[list[Any]] = [["a", ""], ["a", " "], [7], [None], [["a"]], [{"a": "b"}]]


@each("value", [*WRONG, "a text", 7, None, {"a": 1}], ids=repr)
def test_loading_keeps_another_shape_as_the_authors_own_field(write: Write, value: Any) -> None:
    (case,), _ = load_dataset(write("d.jsonl", json.dumps({**CASE, "references": value})))

    assert (case.references, case.metadata) == ((), {"references": value})


@each("value", WRONG, ids=repr)
def test_commands_refuse_a_list_that_is_not_of_texts(write: Write, value: list[Any]) -> None:
    path = write("d.yaml", yaml.safe_dump([{**CASE, "references": value}], sort_keys=False))

    with pytest.raises(InputError, match=r"references field validation failed: item .*, not a text with content"):
        open_dataset(path)
    assert [(problem.line, problem.field) for problem in survey(path).problems] == [(3, "references")]
