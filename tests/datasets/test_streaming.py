"""Datasets for those who run them: checked whole, then read as often as needed."""

from __future__ import annotations

import os
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from entries import each

from prompt_evaluator.config import load_dataset
from prompt_evaluator.datasets import open_dataset, survey
from prompt_evaluator.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.datasets.conftest import Write

FILES = {
    "d.jsonl": '{"id": "a", "input": "x", "k": 1}\n{"id": "b", "input": "y"}\n',
    "d.yaml": "- {id: a, input: x, k: 1}\n- {id: b, input: y}\n",
    "d.json": '[{"id": "a", "input": "x", "k": 1}, {"id": "b", "input": "y"}]',
}


def lines(count: int) -> list[str]:
    return [f'{{"id": "case-{n}", "input": "x", "padding": "{"p" * 40}"}}\n' for n in range(count)]


@pytest.mark.parametrize("name", FILES)
def test_cases_can_be_gone_through_again_and_again(write: Write, name: str) -> None:
    dataset = open_dataset(write(name, FILES[name]))

    assert [case.id for case in dataset.cases] == ["a", "b"]
    assert list(dataset.cases) == list(dataset.cases)


@pytest.mark.parametrize("name", FILES)
def test_two_readers_do_not_disturb_each_other(write: Write, name: str) -> None:
    dataset = open_dataset(write(name, FILES[name]))

    pairs = [(one.id, other.id) for one in dataset.cases for other in dataset.cases]

    assert pairs == [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]


@pytest.mark.parametrize("name", ["d.jsonl", "d.yaml"])
def test_a_dataset_says_the_same_as_load_dataset(write: Write, name: str) -> None:
    path = write(name, FILES[name])
    cases, metadata = load_dataset(path)

    dataset = open_dataset(path)

    assert list(dataset.cases) == cases
    assert metadata == {
        "path": str(dataset.path),
        "hash": dataset.hash,
        "count": dataset.count,
        "format": dataset.format,
    }
    assert (dataset.name, dataset.dialect) == ("d", "guide")


def test_the_whole_file_is_checked_before_the_first_case_is_used(write: Write) -> None:
    path = write("d.jsonl", "".join([*lines(20_000), '{"id": "last"}\n']))

    with pytest.raises(InputError, match="Record at line 20001 is missing required field: input"):
        open_dataset(path)


def test_every_repetition_is_reported_against_the_first(write: Write) -> None:
    text = "".join(f'{{"id": "{case_id}", "input": "x"}}\n' for case_id in "abacab")

    found = survey(write("d.jsonl", text))

    assert [(problem.line, problem.note) for problem in found.problems] == [
        (3, "first at line 1"),
        (5, "first at line 1"),
        (6, "first at line 2"),
    ]


@pytest.mark.parametrize("change", ["longer", "same length", "same length and time"])
def test_a_file_that_changed_in_between_is_refused(write: Write, change: str) -> None:
    path = write("d.jsonl", FILES["d.jsonl"])
    dataset, before = open_dataset(path), path.stat()

    path.write_text(FILES["d.jsonl"].replace('"y"', '"yes"' if change == "longer" else '"z"'))
    if change == "same length":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1))
    elif change == "same length and time":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(InputError, match="The dataset changed while it was in use"):
        list(dataset.cases)


def test_a_file_that_vanished_in_between_is_refused(write: Write) -> None:
    path = write("d.jsonl", FILES["d.jsonl"])
    dataset = open_dataset(path)

    path.unlink()

    with pytest.raises(InputError, match="file not found"):
        list(dataset.cases)


@each("name", FILES)
@each("content", ["", "\n\n"], ids=["empty", "blank"])
def test_an_empty_dataset_is_refused(write: Write, name: str, content: str) -> None:
    path = write(name, content)

    with pytest.raises(InputError, match=r"d\.\w+: The dataset has no cases\. Add at least one case\."):
        open_dataset(path)

    assert [problem.what for problem in survey(path).problems] == ["The dataset has no cases"]


def _peak_of_reading(path: Path) -> int:
    tracemalloc.start()
    try:
        assert sum(1 for _ in open_dataset(path).cases)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_does_not_grow_with_the_file(write: Write) -> None:
    small = _peak_of_reading(write("small.jsonl", "".join(lines(10_000))))
    large = _peak_of_reading(write("large.jsonl", "".join(lines(60_000))))

    assert large < small + 1_000_000


def test_a_record_may_stand_across_two_blocks(write: Write) -> None:
    # Blocks are 256 KiB; lines of many lengths put their borders everywhere.
    texts = ["é" * (n * 37 % 5_000 + 1) for n in range(500)]
    path = write("d.jsonl", "".join(f'{{"id": "{n}", "input": "{text}"}}\n' for n, text in enumerate(texts)))

    assert [case.input for case in open_dataset(path).cases] == texts


def test_lines_are_counted_across_blocks(write: Write) -> None:
    text = "".join(line + "\n" * (n % 3) for n, line in enumerate(lines(9_000)))

    found = survey(write("d.jsonl", text + "{}\n"))

    assert {problem.line for problem in found.problems} == {text.count("\n") + 1}
