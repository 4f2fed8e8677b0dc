"""What happens to fields that the schema does not know."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from entries import each

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset

if TYPE_CHECKING:
    from tests.datasets.conftest import Write

    from prompt_evaluator.model import TestCase

NAMES = [
    "_x",
    "__class__",
    "self",
    "status",
    "1",
    "",
    "metadata_field",
    "check",
    "Id",
    "INPUT",
    "é",
    "a b",
    "<<",
    "id ",
]


def read(write: Write, name: str, record: dict[str, Any]) -> TestCase:
    """JSON is YAML, so one text serves every syntax."""
    text = json.dumps(record)
    path = write(name, text if name == "d.jsonl" else f"[{text}]")
    (case,) = open_dataset(path).cases
    return case


@each("file", ["d.jsonl", "d.yaml", "d.json"])
@each("name", NAMES)
def test_a_field_survives_whatever_its_name(write: Write, file: str, name: str) -> None:
    case = read(write, file, {"id": "a", "input": "x", name: "kept"})

    assert case.metadata == {name: "kept"}


@pytest.mark.parametrize("file", ["d.jsonl", "d.yaml", "d.json"])
def test_a_mapping_called_metadata_is_merged_in_and_wins(write: Write, file: str) -> None:
    record = {"id": "a", "input": "x", "topic": "outer", "level": 1, "metadata": {"topic": "inner", "tags": ["t"]}}

    case = read(write, file, record)

    assert case.metadata == {"topic": "inner", "level": 1, "tags": ["t"]}


def test_an_empty_mapping_called_metadata_leaves_no_trace(write: Write) -> None:
    assert read(write, "d.jsonl", {"id": "a", "input": "x", "metadata": {}}).metadata == {}


def test_metadata_within_metadata_is_kept_as_it_is(write: Write) -> None:
    case = read(write, "d.jsonl", {"id": "a", "input": "x", "metadata": {"metadata": {"deep": 1}}})

    assert case.metadata == {"metadata": {"deep": 1}}


@each("file", ["d.jsonl", "d.yaml"])
@each("value", ["a text", ["a", "list"], 7, None, False], ids=repr)
def test_a_field_called_metadata_that_is_no_mapping_is_kept_under_that_name(
    write: Write, file: str, value: object
) -> None:
    case = read(write, file, {"id": "a", "input": "x", "metadata": value})

    assert case.metadata == {"metadata": value}


def test_schema_fields_inside_metadata_do_not_replace_those_of_the_case(write: Write) -> None:
    case = read(write, "d.jsonl", {"id": "a", "input": "x", "metadata": {"id": "other", "input": "other"}})

    assert (case.id, case.input) == ("a", "x")
    assert case.metadata == {"id": "other", "input": "other"}


def test_two_cases_that_share_a_mapping_by_alias_are_read_alike(write: Write) -> None:
    path = write("d.yaml", "- id: a\n  input: x\n  config: &c {strict: true}\n- id: b\n  input: y\n  metadata: *c\n")

    cases, _ = load_dataset(path)

    assert [case.metadata for case in cases] == [{"config": {"strict": True}}, {"strict": True}]
