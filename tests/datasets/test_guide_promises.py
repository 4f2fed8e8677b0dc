"""The format guide, sentence by sentence: each test is named after the sentence it holds."""

from __future__ import annotations

import hashlib
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from entries import each
from placeless import placeless

from prompt_evaluator.config import load_dataset
from prompt_evaluator.model import TestCase

if TYPE_CHECKING:
    from tests.datasets.conftest import Write

GUIDE_JSONL = """\
{"id": "test-001", "input": "Explain what Python is in simple terms.", \
"description": "Basic Python explanation", "task": "Explain programming language", \
"expected_constraints": "Keep it under 100 words, use simple language", \
"reference": "Python is a popular programming language known for its readability and ease of use.", \
"difficulty": "easy", "topic": "programming"}
{"id": "test-002", "input": "Write a function to calculate factorial of a number.", "task": "Code generation", \
"expected_constraints": "Use recursion, include docstring", "custom_tag": "algorithms"}
{"id": "test-003", "input": "Summarize the water cycle.", "description": "Science education test case", \
"metadata_field": "example"}
"""
GUIDE_YAML = """\
- id: test-001
  input: Explain what Python is in simple terms.
  description: Basic Python explanation
  task: Explain programming language
  expected_constraints: Keep it under 100 words, use simple language
  reference: Python is a popular programming language known for its readability and ease of use.
  difficulty: easy
  topic: programming

- id: test-002
  input: Write a function to calculate factorial of a number.
  task: Code generation
  expected_constraints: Use recursion, include docstring
  custom_tag: algorithms

- id: test-003
  input: Summarize the water cycle.
  description: Science education test case
  metadata_field: example
"""
GUIDE_CASES = [
    TestCase(
        id="test-001",
        input="Explain what Python is in simple terms.",
        description="Basic Python explanation",
        task="Explain programming language",
        expected_constraints="Keep it under 100 words, use simple language",
        reference="Python is a popular programming language known for its readability and ease of use.",
        metadata={"difficulty": "easy", "topic": "programming"},
    ),
    TestCase(
        id="test-002",
        input="Write a function to calculate factorial of a number.",
        task="Code generation",
        expected_constraints="Use recursion, include docstring",
        metadata={"custom_tag": "algorithms"},
    ),
    TestCase(
        id="test-003",
        input="Summarize the water cycle.",
        description="Science education test case",
        metadata={"metadata_field": "example"},
    ),
]
TWO = '{"id": "a", "input": "first"}\n{"id": "b", "input": "second"}\n'


# Supported formats and schema


def test_jsonl_is_one_json_object_per_line(write: Write) -> None:
    cases, _ = load_dataset(write("dataset.jsonl", GUIDE_JSONL))

    assert placeless(cases) == GUIDE_CASES


@pytest.mark.parametrize("name", ["dataset.yaml", "dataset.yml"])
def test_yaml_is_a_list_of_objects(write: Write, name: str) -> None:
    cases, _ = load_dataset(write(name, GUIDE_YAML))

    assert placeless(cases) == GUIDE_CASES


@each("name", ["d.jsonl", "d.yaml"])
@each("field", ["description", "task", "expected_constraints", "reference"])
def test_optional_fields_are_strings(write: Write, field: str, name: str) -> None:
    record = f'{{"id": "a", "input": "x", "{field}": ["no", "string"]}}'

    with pytest.raises(ValueError, match=f"{field} field validation failed: it is a list, not a text"):
        load_dataset(write(name, record if name == "d.jsonl" else f"- {record}"))


# File formats


@each(
    "text",
    [
        TWO.replace("\n", "\n\n"),
        "\n\n" + TWO,
        TWO.replace("\n", "\n  \t\n"),
        TWO.replace("\n", "\r\n\r\n"),
        TWO.rstrip("\n"),
    ],
    ids=["between", "before", "with spaces", "crlf", "no newline at the end"],
)
def test_empty_lines_are_ignored(write: Write, text: str) -> None:
    cases, _ = load_dataset(write("d.jsonl", text))

    assert [case.id for case in cases] == ["a", "b"]


@pytest.mark.parametrize("name", ["d.jsonl", "d.yaml"])
def test_order_of_test_cases_is_preserved(write: Write, name: str) -> None:
    ids = [f"case-{n * 7919 % 1_000}" for n in range(1_000)]
    lines = [f'{{"id": "{case_id}", "input": "x"}}' for case_id in ids]

    cases, _ = load_dataset(write(name, "\n".join(lines if name == "d.jsonl" else [f"- {line}" for line in lines])))

    assert [case.id for case in cases] == ids


def test_yaml_comments_are_supported(write: Write) -> None:
    text = """\
# Production test cases
- id: prod-001
  input: Test case for production  # not part of the input

# Experimental test cases
- id: exp-001
  input: Experimental test case
"""
    cases, _ = load_dataset(write("d.yaml", text))

    assert [case.id for case in cases] == ["prod-001", "exp-001"]
    assert cases[0].input == "Test case for production"


@each(("mark", "expected"), [("|", "one\ntwo\n"), (">", "one two\n"), ("|-", "one\ntwo")])
def test_multi_line_strings_are_supported(write: Write, mark: str, expected: str) -> None:
    cases, _ = load_dataset(write("d.yaml", f"- id: a\n  input: {mark}\n    one\n    two\n"))

    assert cases[0].input == expected


# Loading


def test_load_dataset_returns_a_list_of_test_cases_and_a_dictionary_with_path_hash_count_and_format(
    write: Write,
) -> None:
    path = write("d.jsonl", TWO)

    result = load_dataset(path)

    cases, metadata = result
    assert (type(result), type(cases), type(metadata)) == (tuple, list, dict)
    assert all(isinstance(case, TestCase) for case in cases)
    assert metadata == {
        "path": str(path.resolve()),
        "hash": hashlib.sha256(path.read_bytes()).hexdigest(),
        "count": 2,
        "format": ".jsonl",
    }


@each("name", ["d.jsonl", "d.yaml", "d.yml", "e.JSONL", "e.Yaml", "e.YML"])
def test_format_is_the_file_extension_in_any_letter_case(write: Write, name: str) -> None:
    _, metadata = load_dataset(write(name, ""))

    assert metadata["format"] == Path(name).suffix.lower()


def test_a_path_may_be_a_plain_string(write: Write) -> None:
    path = write("d.jsonl", TWO)

    assert load_dataset(str(path)) == load_dataset(path)


EMPTY = ["", "\n", " \n\n", "\ufeff"]


@each(
    ("name", "content"),
    [*product(["d.jsonl", "d.yaml"], EMPTY), *product(["d.yaml"], ["[]\n", "# nothing yet\n", "---\n"])],
)
def test_a_file_without_cases_is_an_empty_list(write: Write, name: str, content: str) -> None:
    cases, metadata = load_dataset(write(name, content))

    assert cases == []
    assert metadata["count"] == 0


# Validation


def test_duplicate_ids_raise_value_error_in_the_words_of_the_guide(write: Write) -> None:
    path = write(
        "dataset.jsonl",
        '{"id": "test-001", "input": "First case"}\n{"id": "test-001", "input": "Duplicate ID!"}\n',
    )

    with pytest.raises(ValueError, match="Duplicate test case ID 'test-001' found at line 2") as caught:
        load_dataset(path)

    assert "first at line 1" in str(caught.value)


def test_duplicate_ids_in_yaml_name_both_indexes_and_lines(write: Write) -> None:
    path = write("d.yaml", "- id: a\n  input: x\n- id: b\n  input: x\n- id: a\n  input: y\n")

    with pytest.raises(ValueError, match="Duplicate test case ID 'a' found at index 2") as caught:
        load_dataset(path)

    assert str(caught.value).startswith(f"{path}:5: ")
    assert "first at index 0, line 1" in str(caught.value)


def test_unsupported_extensions_raise_value_error_in_the_words_of_the_guide() -> None:
    expected = r"Unsupported dataset file format: \.csv\. Supported formats: \.jsonl, \.yaml, \.yml"

    with pytest.raises(ValueError, match=expected):
        load_dataset(Path("dataset.csv"))


def test_the_extension_is_judged_before_the_file() -> None:
    with pytest.raises(ValueError, match="Unsupported dataset file format") as caught:
        load_dataset(Path("no/such/folder/dataset.csv"))

    assert not isinstance(caught.value, FileNotFoundError)


@each("name", ["dataset.json", "dataset", "dataset.jsonl.gz", ".yaml"])
def test_only_the_three_extensions_of_the_guide_are_loaded(write: Write, name: str) -> None:
    with pytest.raises(ValueError, match="Unsupported dataset file format"):
        load_dataset(write(name, "[]"))


@each("kind", [ValueError, FileNotFoundError])
def test_a_missing_file_is_a_value_error_and_a_file_not_found_error(tmp_path: Path, kind: type[Exception]) -> None:
    with pytest.raises(kind, match=r"nothing\.yaml: file not found\."):
        load_dataset(tmp_path / "nothing.yaml")


# Tips


def test_a_reference_may_span_lines_and_contain_markdown(write: Write) -> None:
    text = """\
- id: api-doc-example
  input: Generate API documentation for a REST endpoint
  reference: |
    ## POST /api/users
    Creates a new user account.

    **Parameters:**
    - username (string, required)
"""
    cases, _ = load_dataset(write("d.yaml", text))

    assert cases[0].reference == (
        "## POST /api/users\nCreates a new user account.\n\n**Parameters:**\n- username (string, required)\n"
    )


# Troubleshooting


@each(
    ("text", "expected"),
    [
        ("- id: a\n  input: x\n task: y\n", "line 3"),
        ("- id: a\n  input x\n", "line 2"),
        ("- id: a\n  input: @x\n", "line 2"),
        ("- id: a\n  input: 'it's'\n", "line 2"),
    ],
    ids=["incorrect indentation", "missing colon", "special character", "quote inside quotes"],
)
def test_yaml_parser_errors_name_the_line(write: Write, text: str, expected: str) -> None:
    with pytest.raises(ValueError, match=f"(?s)Invalid YAML at {expected}"):
        load_dataset(write("d.yaml", text))


@each(
    ("line", "expected"),
    [
        ('{"id": "b" "input": "x"}', "expecting ',' delimiter"),
        ('{"id": b, "input": "x"}', "expecting value"),
        ('{"id": "b", "input": "x",}', "a trailing comma"),
        ("{'id': 'b', 'input': 'x'}", "single quotes"),
    ],
    ids=["missing comma", "unquoted string", "trailing comma", "single quotes"],
)
def test_json_parser_errors_name_the_line(write: Write, line: str, expected: str) -> None:
    with pytest.raises(ValueError, match=f"Invalid JSON at line 2: {expected}"):
        load_dataset(write("d.jsonl", f'{{"id": "a", "input": "x"}}\n{line}\n'))
