"""A case knows where it was written."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset
from prompt_evaluator.datasets.in_memory import in_memory_cases
from prompt_evaluator.model import TestCase

if TYPE_CHECKING:
    from tests.datasets.conftest import Write

CASE = '{"id": "%s", "input": "x"%s}'
CHECKS = ', "checks": "is_json"'
FILES = {
    "d.jsonl": (f"{CASE % ('a', '')}\n\n{CASE % ('b', '')}\n{CASE % ('c', CHECKS)}\n", [1, 3, 4]),
    "d.yaml": ("# a comment\n- id: a\n  input: x\n\n-\n  id: b\n  input: x\n  checks: is_json\n", [2, 6]),
    "b.yaml": ("tasks:\n" + "- {id: a, name: n, input: x,\n   expected_output: y}\n", [2]),
    "d.json": (f"[{CASE % ('a', '')},\n\n{CASE % ('b', CHECKS)}]", [1, 3]),
    "h.json": ('[\n{"prompt": "x"},\n{"prompt": "y"}]', [2, 3]),
}


@pytest.mark.parametrize("name", FILES)
def test_a_case_begins_on_a_line_of_its_file(write: Write, name: str) -> None:
    text, lines = FILES[name]
    path = write(name, text)

    cases = list(open_dataset(path).cases)

    assert [case.line for case in cases] == lines
    assert {case.file for case in cases} == {str(path)}
    if path.suffix != ".json":
        assert load_dataset(path)[0] == cases


def test_the_file_is_an_absolute_path_with_links_followed(write: Write, tmp_path: Path) -> None:
    (tmp_path / "link.yaml").symlink_to(write("d.yaml", "- {id: a, input: x}\n"))

    (case,), about = load_dataset(os.path.relpath(tmp_path / "link.yaml"))

    assert case.file == about["path"] == str(tmp_path / "d.yaml")


def test_a_file_name_that_is_not_text_is_kept_with_marks(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/d\xff.jsonl"))
    path.write_text('{"id": "a", "input": "x"}')

    (case,) = open_dataset(path).cases

    assert case.file == f"{tmp_path}/d\N{REPLACEMENT CHARACTER}.jsonl"


def test_a_case_in_memory_comes_from_no_file() -> None:
    (case,) = in_memory_cases([{"id": "a", "input": "x", "checks": ["is_json"]}])

    assert (case.file, case.line) == (None, None)


def test_a_case_that_was_read_before_keeps_its_place(write: Write) -> None:
    cases, _ = load_dataset(write("d.yaml", "- {id: a, input: x}\n"))

    assert in_memory_cases(cases) == tuple(cases)


def test_a_file_with_no_lines_to_tell_gives_none(write: Write) -> None:
    text = "z: {a: {b: {c: &x [{id: b, input: y, name: n, expected_output: k}]}}}\ntasks: *x\n"

    (case,) = open_dataset(write("b.yaml", text)).cases

    assert case.line is None
    assert isinstance(case, TestCase)
