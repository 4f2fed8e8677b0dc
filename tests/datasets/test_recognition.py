"""Which dialect claims a file, and what is said when none does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from entries import each

import prompt_evaluator
from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import InputError

if TYPE_CHECKING:
    from tests.datasets.conftest import Write

SOURCE = Path(prompt_evaluator.__file__).parent
TASK = '{"id": "a", "name": "n", "input": "x", "expected_output": "y"}'


@each(
    ("name", "text", "dialect"),
    [
        ("d.jsonl", '{"id": "a", "input": "x"}', "guide"),
        ("d.jsonl", '{"id": "a", "input": "x", "prompt": "y"}', "guide"),
        ("d.yaml", "- {id: a, input: x}", "guide"),
        ("d.json", '[{"id": "a", "input": "x"}]', "guide"),
        ("d.json", '[{"id": "a", "input": "x", "prompt": "y"}]', "guide"),
        ("d.json", '[{"prompt": "x"}]', "harness"),
        ("D.JSON", '[{"prompt": "x"}]', "harness"),
        ("d.yaml", f"tasks: [{TASK}]", "benchmark"),
        ("d.yml", f"name: b\ntasks: [{TASK}]", "benchmark"),
        ("d.json", f'{{"tasks": [{TASK}]}}', "benchmark"),
    ],
)
def test_a_dialect_is_recognised_by_shape(write: Write, name: str, text: str, dialect: str) -> None:
    path = write(name, text)

    assert open_dataset(path).dialect == dialect
    assert survey(path).dialect == dialect


@each(
    ("text", "shape"),
    [
        ("just a text", "the text 'just a text'"),
        ("7", "the number 7"),
        ("true", "the boolean true"),
        ("- a\n- b", "a list of values without fields"),
        ("{}", "a mapping with nothing in it"),
        (r'"\e[31mred": 1', r"a mapping with '\x1b[31mred'"),
        ("? " + "x" * 5_000 + "\n: 1", f"a mapping with '{'x' * 40}…'"),
    ],
)
def test_a_file_that_no_dialect_claims_is_refused_with_the_shapes_that_would_work(
    write: Write, text: str, shape: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_dataset(write("d.yaml", text))

    assert f"The dataset is {shape}, not a list of cases" in str(caught.value)
    assert "a list of cases, each with `id` and `input`; a mapping with `tasks:`" in str(caught.value)


def test_load_dataset_does_not_read_the_harness_list(write: Write) -> None:
    with pytest.raises(InputError, match=r"Unsupported dataset file format: \.json\."):
        load_dataset(write("d.json", '[{"prompt": "x"}]'))


def test_a_harness_list_written_in_yaml_is_read_as_the_guides(write: Write) -> None:
    with pytest.raises(InputError, match="missing required field: id"):
        load_dataset(write("d.yaml", "- {prompt: x}"))


def test_strictness_about_benchmark_fields_does_not_reach_the_guide(write: Write) -> None:
    text = "- {id: a, input: x, difficulty: brutal, context: text, expected_tools: 7, tools: no}"

    cases, _ = load_dataset(write("d.yaml", text))

    assert cases[0].metadata == {"difficulty": "brutal", "context": "text", "expected_tools": 7, "tools": "no"}
    assert cases[0].checks == ()


@pytest.mark.parametrize("word", ["mustInclude", "hallucinationTriggers", "expected_tool_sequence"])
def test_a_dialects_spelling_stays_in_its_own_file(word: str) -> None:
    files = {path.parent.name for path in SOURCE.rglob("*.py") if word in path.read_text("utf-8")}

    assert files == {"dialects"}
