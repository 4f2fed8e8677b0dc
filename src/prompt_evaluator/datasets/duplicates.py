"""Finds duplicate ids among any number of cases, with little memory.

A set of a million ids takes about 76 MB. A bitmap takes 16 MB and finds suspects; a 64-bit hash per id clears those
that are not duplicates, so that a file without duplicate ids is read only once.
"""

from __future__ import annotations

from array import array
from collections import Counter
from typing import TYPE_CHECKING

from prompt_evaluator.datasets.fields import written_id
from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.datasets.positions import Position, Report, duplicate

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prompt_evaluator.model import TestCase

_BITS = 27
_MASK = (1 << _BITS) - 1


class IdFilter:
    """Finds ids that were added more than once."""

    def __init__(self) -> None:
        self._bitmap = bytearray(1 << (_BITS - 3))
        self._hashes = array("q")
        self._suspects: set[str] = set()

    def add(self, cases: Iterable[TestCase]) -> None:
        self.add_ids(case.id for case in cases)

    def add_ids(self, ids: Iterable[str]) -> None:
        bitmap, hashes = self._bitmap, []
        for case_id in ids:
            number = hash(case_id)
            hashes.append(number)
            place = number & _MASK
            byte, bit = place >> 3, 1 << (place & 7)
            if bitmap[byte] & bit:
                self._suspects.add(case_id)
            else:
                bitmap[byte] |= bit
        self._hashes.fromlist(hashes)

    def repeated(self) -> set[str]:
        """Return the ids that were added more than once; ids with the same 64-bit hash count as equal."""
        numbers = {hash(case_id) for case_id in self._suspects}
        times = Counter(number for number in self._hashes if number in numbers) if numbers else Counter[int]()
        return {case_id for case_id in self._suspects if times[hash(case_id)] > 1}


def report_duplicates(path: Path, suspects: set[str], report: Report) -> str:
    """Read a JSONL file again and report each suspect that really is a duplicate.

    Returns:
        The hash of the file as read this time.
    """
    file = JsonlFile(path, lambda _: None)
    first: dict[str, Position] = {}
    for lines, records in file.batches():
        for line, record in zip(lines, records, strict=True):
            case_id = written_id(record)
            if case_id in suspects:
                where = Position(path, line)
                if (earlier := first.setdefault(case_id, where)) is not where:
                    report(duplicate(case_id, where, earlier))
    return file.hash
