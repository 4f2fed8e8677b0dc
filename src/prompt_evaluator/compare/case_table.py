"""Every common case on every metric, in order of certainty, made on access from compact columns."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from heapq import merge
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, overload

from prompt_evaluator.model.comparison import CaseComparison
from prompt_evaluator.stats.multiple import benjamini_hochberg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison import CaseClass

CLASSES: tuple[CaseClass, ...] = ("worse", "better", "same", "too_few")
_WORSE, _BETTER, _SAME, _TOO_FEW = range(4)
_FALSE_SHARE = 0.10
"""Of the cases that are called worse (or better), at most this share is expected to be so by chance."""
_RANK = {_WORSE: 0.0, _SAME: 4.0, _TOO_FEW: 4.0, _BETTER: 8.0}


class CaseColumn(NamedTuple):
    """The cases that both runs have measured on one metric."""

    metric: str
    span: float
    cases: array[int]
    """Positions in the list of ids."""
    baseline: array[float]
    candidate: array[float]
    p_values: array[float]
    """One-sided, in the direction of the difference; NaN if there are too few samples."""
    classes: array[int]
    """Positions in `CLASSES`."""

    def certainty(self, at: int) -> float:
        """Lowest for the most certain drop, highest for the most certain gain."""
        p_value = self.p_values[at]
        if math.isnan(p_value) or self.candidate[at] == self.baseline[at]:
            p_value = 1.0
        evidence = p_value if self.candidate[at] < self.baseline[at] else 2 - p_value
        return _RANK[self.classes[at]] + evidence

    def relative_difference(self, at: int) -> float:
        return (self.candidate[at] - self.baseline[at]) / self.span

    def ordered(self, start: int) -> Iterator[tuple[tuple[float, float, int], int]]:
        """Rows counted from `start`, the most certain drop first, each with its place among the rows of all metrics."""
        for at in self._order():
            yield (self.certainty(at), self.relative_difference(at), self.cases[at]), start + at

    def _order(self) -> array[int]:
        # Two stable sorts by one number each need less memory than one by pairs.
        rows = sorted(range(len(self.cases)), key=self.relative_difference)
        rows.sort(key=self.certainty)
        return array("L", rows)


def classify(baseline: array[float], candidate: array[float], p_values: array[float]) -> array[int]:
    """The class of each case, after the correction for many cases; drops and gains are corrected separately."""
    tested = [at for at, p_value in enumerate(p_values) if not math.isnan(p_value)]
    classes = array("b", [_TOO_FEW]) * len(p_values)
    for at in tested:
        classes[at] = _SAME
    for called, sign in ((_WORSE, -1), (_BETTER, 1)):
        # In the other direction a p value is far from significant, so it is taken as 1.
        drops = [p_values[at] if (candidate[at] - baseline[at]) * sign > 0 else 1.0 for at in tested]
        cut = benjamini_hochberg(drops, _FALSE_SHARE)
        if cut is not None:
            for at, p_value in zip(tested, drops, strict=True):
                if p_value <= cut:
                    classes[at] = called
    return classes


def class_counts(classes: array[int]) -> dict[CaseClass, int]:
    return {name: classes.count(at) for at, name in enumerate(CLASSES)}


class TextColumn:
    """Texts in one piece of memory, which need no more than their characters."""

    def __init__(self) -> None:
        self._encoded = bytearray()
        self._ends = array("L", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, text: str) -> None:
        self._encoded += text.encode("utf-8", "surrogatepass")
        self._ends.append(len(self._encoded))

    def __getitem__(self, at: int) -> str:
        return self._encoded[self._ends[at] : self._ends[at + 1]].decode("utf-8", "surrogatepass")


class CaseTable(Sequence[CaseComparison]):
    """The rows of all metrics, the most certain drop first and the most certain gain last."""

    def __init__(self, ids: TextColumn, columns: Sequence[CaseColumn]) -> None:
        self._ids, self._columns = ids, columns
        self._starts = [0, *accumulate(len(column.cases) for column in columns)]
        ordered = [column.ordered(start) for column, start in zip(columns, self._starts, strict=False)]
        self._order = array("L", (row for _, row in merge(*ordered)))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, at: int) -> CaseComparison: ...
    @overload
    def __getitem__(self, at: slice) -> list[CaseComparison]: ...
    def __getitem__(self, at: int | slice) -> CaseComparison | list[CaseComparison]:
        if isinstance(at, slice):
            return [self._row(row) for row in self._order[at]]
        return self._row(self._order[at])

    def _row(self, row: int) -> CaseComparison:
        column, at = self._find(row)
        p_value = column.p_values[at]
        return CaseComparison(
            test_case_id=self._ids[column.cases[at]],
            metric=column.metric,
            baseline=column.baseline[at],
            candidate=column.candidate[at],
            class_=CLASSES[column.classes[at]],
            p_value=None if math.isnan(p_value) else p_value,
        )

    def _find(self, row: int) -> tuple[CaseColumn, int]:
        number = bisect_right(self._starts, row) - 1
        return self._columns[number], row - self._starts[number]
