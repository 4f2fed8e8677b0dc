"""Reads cases of a file that was surveyed, and passes over what cannot be used: of a JSONL file, from any block on."""

from __future__ import annotations

from bisect import bisect_right
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING

from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.datasets.reading import ALL_FORMATS, checked_format, document_cases, jsonl_cases, parse_document
from prompt_evaluator.datasets.shared_checks import Reading
from prompt_evaluator.syntax.source import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.datasets.shared_checks import Inspect
    from prompt_evaluator.datasets.survey import CaseBlock
    from prompt_evaluator.errors import InputError
    from prompt_evaluator.model import TestCase


def usable_cases(
    path: Path, blocks: Sequence[CaseBlock] = (), *, first: int = 0, inspect: Inspect | None = None
) -> Iterator[TestCase]:
    """The cases that a survey counted, in file order. A document is read whole.

    Args:
        path: The file.
        blocks: Of a JSONL file, as the survey found them.
        first: The position of the first case to yield.
        inspect: As in the survey.

    Raises:
        InputError: Nothing of the file can be used.
    """
    reading = Reading(_pass_over, strict=True, inspect=inspect)
    file_format = checked_format(path, ALL_FORMATS)
    if file_format != ".jsonl":
        document = parse_document(read_bytes(path), path, file_format)
        return islice(document_cases(document, path, reading)[1], first, None)
    block = _block_of(first, blocks)
    file = JsonlFile(path, _pass_over, block.start) if block else JsonlFile(path, _pass_over)
    before = block.cases_before if block else 0
    return islice(chain.from_iterable(jsonl_cases(file, reading)), first - before, None)


def cases_at(
    path: Path, blocks: Sequence[CaseBlock], positions: Iterable[int], *, inspect: Inspect | None = None
) -> dict[int, TestCase]:
    """The cases at some positions of a JSONL file, by position. Only blocks with one of them are read."""
    found: dict[int, TestCase] = {}
    for _, group in groupby(sorted(positions), lambda at: _block_of(at, blocks)):
        wanted = list(group)
        cases = islice(usable_cases(path, blocks, first=wanted[0], inspect=inspect), wanted[-1] - wanted[0] + 1)
        found |= {at: case for at, case in enumerate(cases, wanted[0]) if at in wanted}
    return found


def _block_of(position: int, blocks: Sequence[CaseBlock]) -> CaseBlock | None:
    """The block that has the case; None where no block is known."""
    at = bisect_right(blocks, position, key=lambda block: block.cases_before)
    return blocks[at - 1] if at else None


def _pass_over(_problem: InputError) -> None:
    """A `Report` for a file whose problems are known."""
