"""Walks through the cases of two runs together, once, whatever their number."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.comparison import DatasetChange

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison import ComparedCase
    from prompt_evaluator.ports import ComparedRun

_BATCH = 256
_LISTED = 20


class Pair(NamedTuple):
    """A case in two runs; None where a run does not have it."""

    baseline: ComparedCase | None
    candidate: ComparedCase | None


def pairs(baseline: ComparedRun, candidate: ComparedRun) -> Iterator[Pair]:
    """Every case of either run: those of the baseline in file order, then those that only the candidate has."""
    matched = 0
    for batch in baseline.batches():
        found = candidate.find([case.case_id for case in batch])
        matched += len(found)
        for case in batch:
            yield Pair(case, found.get(case.case_id))
    if sum(1 for _ in candidate.case_ids()) > matched:
        yield from _others(baseline, candidate)


def _others(baseline: ComparedRun, candidate: ComparedRun) -> Iterator[Pair]:
    """The cases that only the candidate has. Asks the baseline again, instead of remembering all its ids."""
    ids = candidate.case_ids()
    while batch := list(islice(ids, _BATCH)):
        known = baseline.find(batch)
        for case in candidate.find([case_id for case_id in batch if case_id not in known]).values():
            yield Pair(None, case)


class Rows:
    """Counts how the cases of two runs differ."""

    def __init__(self) -> None:
        self._ids: tuple[list[str], list[str], list[str]] = ([], [], [])
        self._counts = [0, 0, 0]
        self.common = 0

    def add(self, pair: Pair) -> bool:
        """Count a pair; True if the case is common to both runs and unchanged."""
        if pair.baseline is None:
            return self._note(0, pair.candidate)
        if pair.candidate is None:
            return self._note(1, pair.baseline)
        if pair.baseline.is_changed(pair.candidate):
            return self._note(2, pair.baseline)
        self.common += 1
        return True

    def change(self) -> DatasetChange:
        added, removed, changed = map(tuple, self._ids)
        return DatasetChange(
            added=self._counts[0],
            removed=self._counts[1],
            changed=self._counts[2],
            added_ids=added,
            removed_ids=removed,
            changed_ids=changed,
        )

    def _note(self, kind: int, case: ComparedCase | None) -> bool:
        if case is not None:
            self._counts[kind] += 1
            if len(self._ids[kind]) < _LISTED:
                self._ids[kind].append(case.case_id)
        return False
