"""The cases of a large run in one file, a line each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from case_results import case_result

from prompt_evaluator.errors import StoreError
from prompt_evaluator.model.outcome import PACK_FILE
from prompt_evaluator.store.artifacts import case_line
from prompt_evaluator.store.case_pack import CasePack

if TYPE_CHECKING:
    from pathlib import Path


def lines(folder: Path) -> list[str]:
    return [json.loads(line)["test_case_id"] for line in (folder / PACK_FILE).read_bytes().splitlines()]


def pack(folder: Path, *case_ids: str) -> CasePack:
    made = CasePack(folder)
    for case_id in case_ids:
        made.add(case_line(case_result(case_id)))
    return made


def test_each_case_is_a_line_in_the_order_in_which_they_finish(tmp_path: Path) -> None:
    made = pack(tmp_path, "b", 'a "quoted"\n', "ü")
    made.show()
    made.add(case_line(case_result("last")))
    made.show()
    made.close()

    assert lines(tmp_path) == ["b", 'a "quoted"\n', "ü", "last"]
    assert [path.name for path in tmp_path.iterdir()] == [PACK_FILE]


def test_what_was_there_stays_until_there_is_something_better(tmp_path: Path) -> None:
    first = pack(tmp_path, "a", "b")
    first.show()
    first.close()

    again = pack(tmp_path, "a")
    assert lines(tmp_path) == ["a", "b"]
    again.close()
    assert lines(tmp_path) == ["a", "b"]
    assert [path.name for path in tmp_path.iterdir()] == [PACK_FILE]


def test_a_folder_that_is_gone_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        CasePack(tmp_path / "gone")
