"""Every common case on every metric, in order of certainty, made on access from compact columns."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, overload

from prompt_evaluator.model.comparison import CaseComparison
from prompt_evaluator.stats.multiple import benjamini_hochberg

if TYPE_CHECKING:
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


def classify(baseline: array[float], candidate: array[float], p_values: array[float]) -> array[int]:
    """The class of each case, after the correction for many cases; drops and gains are corrected separately."""
    tested = [at for at, p_value in enumerate(p_values) if not math.isnan(p_value)]
    classes = array("b", [_TOO_FEW]) * len(p_values)
    for at in tested:
        classes[at] = _SAME
    for called, sign in ((_WORSE, -1), (_BETTER, 1)):
        # In the other direction a p value is far from significant, so 1 stands for it.
        drops = [p_values[at] if (candidate[at] - baseline[at]) * sign > 0 else 1.0 for at in tested]
        cut = benjamini_hochberg(drops, _FALSE_SHARE)
        if cut is not None:
            for at, p_value in zip(tested, drops, strict=True):
                if p_value <= cut:
                    classes[at] = called
    return classes


def class_counts(classes: array[int]) -> dict[CaseClass, int]:
    return {name: classes.count(at) for at, name in enumerate(CLASSES)}


class CaseTable(Sequence[CaseComparison]):
    """The rows of all metrics, the most certain drop first and the most certain gain last."""

    def __init__(self, ids: list[str], columns: Sequence[CaseColumn]) -> None:
        self._ids, self._columns = ids, columns
        self._starts = [0, *accumulate(len(column.cases) for column in columns)]
        # Two stable sorts by one number each need less memory than one by pairs. Before them, rows are by case.
        rows = sorted(range(self._starts[-1]), key=self._case)
        rows.sort(key=self._relative_difference)
        rows.sort(key=self._certainty)
        self._order = array("L", rows)

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

    def _case(self, row: int) -> int:
        column, at = self._find(row)
        return column.cases[at]

    def _relative_difference(self, row: int) -> float:
        column, at = self._find(row)
        return column.relative_difference(at)

    def _certainty(self, row: int) -> float:
        column, at = self._find(row)
        return column.certainty(at)
