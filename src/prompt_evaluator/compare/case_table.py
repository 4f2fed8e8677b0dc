"""Every common case on every metric, in order of certainty, made on access from compact columns."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, overload

import numpy as np

from prompt_evaluator.model.comparison import CLASSES, CaseComparison
from prompt_evaluator.stats.multiple import benjamini_hochberg

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from prompt_evaluator.compare.blocks import Texts
    from prompt_evaluator.model.comparison import CaseClass
    from prompt_evaluator.stats.packed import Counts, Floats, Ints

    Classes = npt.NDArray[np.int8]

_WORSE, _BETTER, _SAME, _TOO_FEW = range(4)
_FALSE_SHARE = 0.10
"""Of the cases that are called worse (or better), at most this share is expected to be so by chance."""
_RANKS = np.array([0.0, 8.0, 4.0, 4.0])
"""Of each class: drops come first, gains last."""
_AT_ONCE = 4_096


class CaseColumn(NamedTuple):
    """The cases that both runs have measured on one metric."""

    metric: str
    span: float
    cases: Counts
    """Positions in the list of ids."""
    baseline: Floats
    candidate: Floats
    p_values: Floats
    """One-sided, in the direction of the difference; NaN if there are too few samples."""
    classes: Classes
    """Positions in `CLASSES`."""

    def certainty(self) -> Floats:
        """Lowest for the most certain drop, highest for the most certain gain."""
        unclear = np.isnan(self.p_values) | (self.candidate == self.baseline)
        p_values = np.where(unclear, 1.0, self.p_values)
        ranks: Floats = _RANKS[self.classes]
        return ranks + np.where(self.candidate < self.baseline, p_values, 2 - p_values)

    def relative_difference(self) -> Floats:
        return (self.candidate - self.baseline) / self.span


def classify(baseline: Floats, candidate: Floats, p_values: Floats) -> Classes:
    """The class of each case, after the correction for many cases; drops and gains are corrected separately."""
    tested = ~np.isnan(p_values)
    classes = np.where(tested, _SAME, _TOO_FEW).astype(np.int8)
    differences, measured = (candidate - baseline)[tested], p_values[tested]
    for called, sign in ((_WORSE, -1), (_BETTER, 1)):
        # In the other direction a p value is far from significant, so it is taken as 1.
        drops = np.where(differences * sign > 0, measured, 1.0)
        cut = benjamini_hochberg(drops, _FALSE_SHARE)
        if cut is not None:
            classes[np.flatnonzero(tested)[drops <= cut]] = called
    return classes


def class_counts(classes: Classes) -> dict[CaseClass, int]:
    counts = np.bincount(classes, minlength=len(CLASSES)).tolist()
    return dict(zip(CLASSES, counts, strict=True))


class TextColumn:
    """Texts in one piece of memory, which need no more than their characters."""

    def __init__(self) -> None:
        self._encoded = bytearray()
        self._sizes: list[Counts] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, texts: Texts) -> None:
        self._encoded += texts.encoded
        self._sizes.append(texts.sizes)
        self._count += len(texts.sizes)

    def __getitem__(self, at: int) -> str:
        end = int(self._ends[at])
        return self._encoded[end - int(self._lengths[at]) : end].decode("utf-8", "surrogatepass")

    @cached_property
    def _lengths(self) -> Counts:
        return np.concatenate(self._sizes)

    @cached_property
    def _ends(self) -> Ints:
        return np.cumsum(self._lengths, dtype=np.int64)


class CaseTable(Sequence[CaseComparison]):
    """The rows of all metrics, the most certain drop first and the most certain gain last."""

    def __init__(self, ids: TextColumn, columns: Sequence[CaseColumn]) -> None:
        self._ids, self._columns = ids, columns
        self._starts = np.cumsum([0, *(len(column.cases) for column in columns)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    @overload
    def __getitem__(self, at: int) -> CaseComparison: ...
    @overload
    def __getitem__(self, at: slice) -> list[CaseComparison]: ...
    def __getitem__(self, at: int | slice) -> CaseComparison | list[CaseComparison]:
        if isinstance(at, slice):
            return [self._row(row) for row in self._order[at].tolist()]
        return self._row(int(self._order[at]))

    def __iter__(self) -> Iterator[CaseComparison]:
        for start in range(0, len(self), _AT_ONCE):
            yield from self[start : start + _AT_ONCE]

    @cached_property
    def _order(self) -> Ints:
        """Rows of all metrics together, sorted on first use: most readers only look at a few, or at none."""
        if not self._columns:
            return np.empty(0, dtype=np.int64)
        cases = np.concatenate([column.cases for column in self._columns])
        differences = np.concatenate([column.relative_difference() for column in self._columns])
        certainties = np.concatenate([column.certainty() for column in self._columns])
        return np.lexsort((cases, differences, certainties))

    def _row(self, row: int) -> CaseComparison:
        number = int(np.searchsorted(self._starts, row, side="right")) - 1
        column, at = self._columns[number], row - int(self._starts[number])
        p_value = column.p_values.item(at)
        return CaseComparison(
            test_case_id=self._ids[column.cases.item(at)],
            metric=column.metric,
            baseline=column.baseline.item(at),
            candidate=column.candidate.item(at),
            class_=CLASSES[column.classes.item(at)],
            p_value=p_value if p_value == p_value else None,  # noqa: PLR0124 - NaN is not equal to itself
        )
