"""Equal ids among any number of cases, in constant memory.

A set of a million ids takes about 76 MB. A bitmap of their hashes takes 16 MB and leaves some suspects, which a second
pass over the file clears or convicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.datasets.dialects import GUIDE
from prompt_evaluator.datasets.jsonl import JsonlFile
from prompt_evaluator.datasets.positions import Position, Report, duplicate

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from prompt_evaluator.model import TestCase

_BITS = 27
_MASK = (1 << _BITS) - 1


class IdFilter:
    """Notices every id that it has seen before, and now and then one that it has not."""

    def __init__(self) -> None:
        self._bitmap = bytearray(1 << (_BITS - 3))
        self.suspects: set[str] = set()

    def add(self, cases: Iterable[TestCase]) -> None:
        bitmap = self._bitmap
        for case in cases:
            place = hash(case.id) & _MASK
            byte, bit = place >> 3, 1 << (place & 7)
            if bitmap[byte] & bit:
                self.suspects.add(case.id)
            else:
                bitmap[byte] |= bit


def report_duplicates(path: Path, suspects: set[str], report: Report) -> None:
    """Read a JSONL file again for the suspects alone, and report each id that really stands twice."""
    first: dict[str, Position] = {}
    for lines, records in JsonlFile(path, lambda _: None).batches():
        for line, record in zip(lines, records, strict=True):
            case_id = record.get("id")  # of any type: a survey goes on after a record that is wrong
            if type(case_id) is str and case_id in suspects:
                where = Position(path, line)
                usable = GUIDE.case(record, where, lambda _: None)
                if usable and (earlier := first.setdefault(case_id, where)) is not where:
                    report(duplicate(case_id, where, earlier))
