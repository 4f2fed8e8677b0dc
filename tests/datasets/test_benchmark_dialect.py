"""The benchmark's mapping with `tasks:`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from entries import each
from placeless import placeless

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import InputError
from prompt_evaluator.model import MetricUse, TestCase

if TYPE_CHECKING:
    from tests.datasets.conftest import Write

MINIMAL = """\
name: My Custom Benchmark
description: Tests for domain-specific code generation.

tasks:
  - id: custom-001
    name: Generate API endpoint
    input: "Write a Go HTTP handler that returns JSON."
    expected_output: |
      func handler(w http.ResponseWriter, r *http.Request) {
      }
"""


def task(*lines: str) -> str:
    """A benchmark of one task with more fields; they start on line 6."""
    given = ["id: a", "name: n", "input: x", "expected_output: y", *lines]
    return "tasks:\n  - " + "\n    ".join(given) + "\n"


def only_case(write: Write, text: str) -> TestCase:
    (case,) = open_dataset(write("b.yaml", text)).cases
    return case


def test_the_minimal_dataset_of_the_document_is_read(write: Write) -> None:
    dataset = open_dataset(write("b.yaml", MINIMAL))

    assert (dataset.name, dataset.dialect) == ("My Custom Benchmark", "benchmark")
    assert dataset.description == "Tests for domain-specific code generation."
    assert placeless(dataset.cases) == [
        TestCase(
            id="custom-001",
            input="Write a Go HTTP handler that returns JSON.",
            reference="func handler(w http.ResponseWriter, r *http.Request) {\n}\n",
            metadata={"name": "Generate API endpoint", "difficulty": "medium"},
        )
    ]


def test_load_dataset_reads_it_too(write: Write) -> None:
    cases, metadata = load_dataset(write("b.yaml", MINIMAL))

    assert [case.id for case in cases] == ["custom-001"]
    assert metadata["count"] == 1


def test_a_dataset_without_a_name_is_called_after_its_file(write: Write) -> None:
    dataset = open_dataset(write("b.yaml", task()))

    assert (dataset.name, dataset.description) == ("b", None)


def test_it_may_be_written_in_json(write: Write) -> None:
    text = '{"tasks": [{"id": "a", "name": "n", "input": "x", "expected_output": "y"}]}'

    dataset = open_dataset(write("b.json", text))

    assert dataset.dialect == "benchmark"


@pytest.mark.parametrize("field", ["id", "name", "input", "expected_output"])
def test_required_fields_are_required(write: Write, field: str) -> None:
    lines = {"id": "a", "name": "n", "input": "x", "expected_output": "y"}
    del lines[field]
    text = "tasks:\n  - " + "\n    ".join(f"{name}: {value}" for name, value in lines.items())

    with pytest.raises(InputError, match=f"Record at index 0 is missing required field: {field}"):
        open_dataset(write("b.yaml", text))


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
def test_a_difficulty_of_the_document_is_kept(write: Write, level: str) -> None:
    assert only_case(write, task(f"difficulty: {level}")).metadata["difficulty"] == level


@pytest.mark.parametrize("line", ["difficulty:", "category: x"], ids=["null", "absent"])
def test_the_default_difficulty_is_medium(write: Write, line: str) -> None:
    assert only_case(write, task(line)).metadata["difficulty"] == "medium"


@each("value", ["brutal", "Easy", "2", "[easy]", '""', "true"])
def test_any_other_difficulty_is_refused(write: Write, value: str) -> None:
    with pytest.raises(InputError, match="which is not one of easy, medium, hard") as caught:
        open_dataset(write("b.yaml", task(f"difficulty: {value}")))

    assert (caught.value.line, caught.value.field) == (6, "difficulty")


def test_context_is_kept_as_metadata(write: Write) -> None:
    assert only_case(write, task("context: [one, two]")).metadata["context"] == ["one", "two"]


@pytest.mark.parametrize("value", ["a passage", "[a, 7]", "['']", "{a: b}"])
def test_context_is_a_list_of_texts(write: Write, value: str) -> None:
    with pytest.raises(InputError, match="context field validation failed"):
        open_dataset(write("b.yaml", task(f"context: {value}")))


def test_expected_tools_become_a_request_for_tool_correctness(write: Write) -> None:
    case = only_case(write, task("expected_tools:", "  - {name: search, args: {q: x}}", "  - {name: stop}"))

    calls = [{"name": "search", "args": {"q": "x"}}, {"name": "stop"}]
    assert case.checks == (MetricUse(metric="tool_correctness", options={"expected_tools": calls}),)
    assert "expected_tools" not in case.metadata


@pytest.mark.parametrize("args", ["{q: x, n: 1}", """'{"q": "x", "n": 1}'"""], ids=["mapping", "json"])
def test_args_are_a_mapping_or_its_json(write: Write, args: str) -> None:
    case = only_case(write, task(f"expected_tools: [{{name: search, args: {args}}}]"))

    assert case.checks[0].options["expected_tools"] == [{"name": "search", "args": {"q": "x", "n": 1}}]


@each(
    "args",
    ["[1]", "7", "'{q'", "'[1]'", "''", """'{"a": 1, "a": 2}'""", '\'{"a": ' + "[" * 300 + "]" * 300 + "}'"],
    ids=["list", "number", "cut", "json list", "empty", "duplicate keys", "too deep"],
)
def test_other_args_are_refused(write: Write, args: str) -> None:
    with pytest.raises(InputError, match="`args` of item 0 is") as caught:
        open_dataset(write("b.yaml", task(f"expected_tools: [{{name: t, args: {args}}}]")))

    assert (caught.value.line, caught.value.field) == (6, "expected_tools")


@each("value", ["search", "[search]", "[{args: {}}]", "[{name: ''}]", "[{name: 7}]", "{name: t}"])
def test_expected_tools_are_a_list_of_named_calls(write: Write, value: str) -> None:
    with pytest.raises(InputError, match="expected_tools field validation failed"):
        open_dataset(write("b.yaml", task(f"expected_tools: {value}")))


def test_an_empty_list_of_tools_asks_for_nothing(write: Write) -> None:
    assert only_case(write, task("expected_tools: []", "context: []")).checks == ()


def test_an_empty_list_beside_offered_tools_asks_that_none_is_called(write: Write) -> None:
    case = only_case(write, task("expected_tools: []", "tools: [{name: search}]"))

    assert case.checks == (MetricUse(metric="tool_correctness", options={"expected_tools": []}),)


def test_a_sequence_of_tools_is_a_request_in_order(write: Write) -> None:
    case = only_case(write, task("expected_tool_sequence: [open, {name: read, args: {n: 1}}]"))

    calls = [{"name": "open"}, {"name": "read", "args": {"n": 1}}]
    assert case.checks == (MetricUse(metric="tool_correctness", options={"expected_tools": calls, "mode": "ordered"}),)


def test_a_sequence_beside_expected_tools_is_a_second_use_with_a_name_of_its_own(write: Write) -> None:
    case = only_case(write, task("expected_tools: [{name: a}]", "expected_tool_sequence: [b]"))

    assert [use.key for use in case.checks] == ["tool_correctness", "tool_sequence"]
    assert case.checks[1] == MetricUse(
        metric="tool_correctness",
        name="tool_sequence",
        options={"expected_tools": [{"name": "b"}], "mode": "ordered"},
    )


@pytest.mark.parametrize(
    "schema",
    ["{name: search, parameters: {}}", "{type: function, function: {name: search}}"],
    ids=["flat", "wrapped"],
)
def test_function_schemas_are_kept(write: Write, schema: str) -> None:
    case = only_case(write, task(f"tools: [{schema}]"))

    assert len(case.metadata["tools"]) == 1


@pytest.mark.parametrize("value", ["search", "[search]", "[{description: d}]", "[{function: 7}]", "{name: t}"])
def test_tools_are_function_schemas(write: Write, value: str) -> None:
    with pytest.raises(InputError, match="tools field validation failed"):
        open_dataset(write("b.yaml", task(f"tools: {value}")))


def test_the_optional_texts_of_the_guide_are_read_here_too(write: Write) -> None:
    case = only_case(write, task("task: t", "expected_constraints: c", "description: d"))

    assert (case.task, case.expected_constraints, case.description) == ("t", "c", "d")


def test_every_problem_of_a_task_is_found(write: Write) -> None:
    found = survey(write("b.yaml", "tasks:\n- id: 7\n  input: ''\n  difficulty: brutal\n  context: x\n- 5\n"))

    assert [problem.field for problem in found.problems] == [
        "id",
        "name",
        "expected_output",
        "input",
        "difficulty",
        "context",
        None,
    ]
    assert [problem.line for problem in found.problems] == [2, 2, 2, 3, 4, 5, 6]
    assert found.count == 0


@pytest.mark.parametrize("text", ["tasks: []\n", "name: n\ntasks: []\n"])
def test_no_tasks_are_no_cases(write: Write, text: str) -> None:
    with pytest.raises(InputError, match="The dataset has no cases"):
        open_dataset(write("b.yaml", text))
