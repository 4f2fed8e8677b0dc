"""Cases are read from the middle of a file as if all before them had been read."""

from __future__ import annotations

import json
import os
from random import Random
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.datasets import cases_at, survey, usable_cases

if TYPE_CHECKING:
    from pathlib import Path

CASES = 6_000


def written(path: Path, seed: int, *, start: bytes = b"") -> Path:
    """Lines of all lengths; some are blank, some cannot be used."""
    random = Random(seed)
    lines = []
    for at in range(CASES):
        lines.append(json.dumps({"id": f"case-{at}", "input": "é" * random.randint(1, 400), "n": at}).encode())
        if random.random() < 0.002:
            lines.append(random.choice((b"", b"  ", b"{", b'{"id": "no-input"}')))
    path.write_bytes(start + random.choice((b"\n", b"\r\n")).join(lines))
    return path


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"], ids=["plain", "with a byte order mark"])
@pytest.mark.parametrize("seed", [1, 2])
def test_cases_at_any_places_are_those_of_the_whole_file(tmp_path: Path, seed: int, start: bytes) -> None:
    path = written(tmp_path / "big.jsonl", seed, start=start)
    found = survey(path)
    every = list(usable_cases(path))
    random = Random(seed)
    places = {0, CASES - 1, *(block.cases_before for block in found.blocks), *random.sample(range(CASES), 60)}

    assert found.count == len(every) == CASES
    assert len(found.blocks) > 3
    assert cases_at(path, found.blocks, places) == {at: every[at] for at in places}


def test_the_last_page_of_a_file_does_not_read_what_is_before_it(tmp_path: Path) -> None:
    path = written(tmp_path / "big.jsonl", 3)
    found = survey(path)
    whole = path.read_bytes()
    last = found.blocks[-1]
    path.write_bytes(b"x" * last.start.offset + whole[last.start.offset :])

    assert cases_at(path, found.blocks, [CASES - 1])[CASES - 1].id == f"case-{CASES - 1}"


def test_a_line_that_is_too_long_moves_no_other(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    case = b'{"id": "%s", "input": "x"}\n'
    with path.open("wb") as file:
        file.write(case % b"first")
        file.write(b'{"id": "long", "input": "')
        for _ in range(17):
            file.write(b"y" * 2**20)
        file.write(b'"}\n' + b"".join(case % b"%d" % at for at in range(20_000)))
    found = survey(path)

    assert (found.count, found.problem_count) == (20_001, 1)
    assert cases_at(path, found.blocks, [20_000])[20_000].id == "19999"
    assert os.path.getsize(path) > found.blocks[-1].start.offset  # noqa: PTH202 - the same


def test_a_document_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "tea.yaml"
    path.write_text("- {id: a, input: x}\n- {id: b}\n- {id: c, input: z}\n")

    assert [case.id for case in usable_cases(path)] == ["a", "c"]
    assert survey(path).blocks == []
