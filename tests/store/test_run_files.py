"""A run's files when an owner that was stopped wakes up beside the next one: the files are the next one's."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from case_results import case_result, run_result

from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import DatasetRef
from prompt_evaluator.model.outcome import MAIN_FILE, MOST_CASE_FILES, PACK_FILE
from prompt_evaluator.store.artifacts import RunFolder
from prompt_evaluator.store.files import atomic, own_ending
from prompt_evaluator.store.run_files import RunFiles

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunRecord

CASES = ["a", "b", "c"]


@pytest.fixture
def large(record: Callable[..., RunRecord], tmp_path: Path) -> RunRecord:
    """A run of so many cases that they are in one file."""
    many = MOST_CASE_FILES + 1
    dataset = DatasetRef(path="/d.jsonl", hash="sha256:0", count=many, selected=many)
    return record(output_dir=str(tmp_path), dataset=dataset)


def _owned(record: RunRecord, cases: int) -> RunFiles:
    files = RunFiles(record, lambda: CASES)
    for position, case_id in enumerate(CASES[:cases]):
        files.save_now(position, case_result(case_id))
    return files


def _packed(folder: Path) -> list[str]:
    return [json.loads(line)["test_case_id"] for line in (folder / PACK_FILE).read_bytes().splitlines()]


def test_an_earlier_owner_that_ends_late_takes_nothing_from_the_next_one(large: RunRecord) -> None:
    folder = RunFolder(large).path
    earlier = _owned(large, 1)
    with closing(_owned(large, 3)) as files:
        earlier.close()

        files.write(large, run_result())

    assert _packed(folder) == CASES
    assert sorted(path.name for path in folder.iterdir()) == [MAIN_FILE, PACK_FILE]


def test_an_earlier_owner_that_wakes_up_cannot_replace_what_the_next_one_has_written(large: RunRecord) -> None:
    folder = RunFolder(large).path
    with closing(_owned(large, 1)) as earlier, closing(_owned(large, 3)) as files:
        files.write(large, run_result())
        with pytest.raises(StoreError, match="cannot be written"):
            earlier.write(large, run_result())

        files.write(large, run_result())

    assert _packed(folder) == CASES


def test_a_write_in_progress_when_the_next_owner_comes_is_not_put_in_place(large: RunRecord) -> None:
    folder = RunFolder(large)
    folder.make()

    def stopped_in_between() -> None:
        with atomic(folder.main_file, own_ending()) as file:
            file.write(b"old")
            with closing(_owned(large, 3)) as files:
                files.write(large, run_result())

    with pytest.raises(FileNotFoundError):
        stopped_in_between()

    assert [case["test_case_id"] for case in json.loads(folder.main_file.read_bytes())["test_case_results"]] == CASES


def test_what_a_killed_owner_has_left_is_gone_when_the_next_one_begins(large: RunRecord) -> None:
    folder = RunFolder(large)
    folder.make()
    for name in (MAIN_FILE, PACK_FILE, "test_case_a.json"):
        (folder.path / f".{name}{own_ending()}").write_bytes(b"half")
    (folder.path / ".report.html.tmp").write_bytes(b"being written by a person's command")

    _owned(large, 0).close()

    assert [path.name for path in folder.path.iterdir()] == [".report.html.tmp"]


def test_in_the_main_file_of_a_large_run_each_case_is_one_line(large: RunRecord) -> None:
    with closing(_owned(large, 2)) as files:
        files.write(large, run_result())

    text = (RunFolder(large).path / MAIN_FILE).read_text(encoding="utf-8")
    lines = [line.strip().removesuffix(",") for line in text.splitlines()]
    cases = json.loads(text)["test_case_results"]
    assert [case["test_case_id"] for case in cases] == CASES
    assert [json.loads(line) for line in lines if line.startswith('{"test_case_id":')] == cases[:2]
