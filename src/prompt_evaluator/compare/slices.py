"""Groups of common cases with the same value of a metadata key."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.compare.columns import Measure, verdict_of
from prompt_evaluator.model.comparison import SliceComparison
from prompt_evaluator.model.slicing import Groups
from prompt_evaluator.stats.multiple import holm
from prompt_evaluator.stats.paired import Paired, Running, paired_from_running

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.compare.kinds import Kinds
    from prompt_evaluator.stats.packed import Floats, Ints

_FEWEST_CASES = 5


class CaseMeans(NamedTuple):
    """Common cases on one metric."""

    metric: str
    rows: Ints
    """Places among the common cases of the block."""
    baseline: Floats
    candidate: Floats


class Slices(NamedTuple):
    """All slices, and how many of them × metrics were tested."""

    slices: tuple[SliceComparison, ...]
    compared: int


class _Sums:
    __slots__ = ("baseline", "candidate", "difference")

    def __init__(self) -> None:
        self.baseline = self.candidate = 0.0
        self.difference = Running()

    def add(self, baseline: Floats, candidate: Floats) -> None:
        self.baseline += float(baseline.sum())
        self.candidate += float(candidate.sum())
        self.difference.extend(candidate - baseline)


_ByMetric = dict[str, _Sums]


class SliceTally:
    """Adds up the common cases by every key that divides them into a few groups, or by those asked for."""

    def __init__(self, asked: Sequence[str] | None) -> None:
        self._groups: Groups[_ByMetric] = Groups(dict, asked)

    def add(self, kinds: Kinds, means: Sequence[CaseMeans]) -> None:
        """Add the common cases of a block."""
        for sums, is_member in kinds.members(self._groups):
            for mean in means:
                here = is_member[mean.rows]
                if here.any():
                    sums.setdefault(mean.metric, _Sums()).add(mean.baseline[here], mean.candidate[here])

    def finish(self, measures: Mapping[str, Measure]) -> Slices:
        """Test all slices, with one correction for all of them.

        Raises:
            UnknownNameError: No common case has a key that was asked for.
        """
        found = [
            _Tested(key, value, metric, sums, paired_from_running(sums.difference, span=measures[metric].span))
            for key, value, by_metric in self._groups.few(_divides)
            for metric, sums in by_metric.items()
        ]
        tested = [each for each in found if each.paired.p_value is not None]
        corrected = dict(zip(map(id, tested), holm([each.p_value for each in tested]), strict=True))
        found.sort(key=lambda each: (each.certainty, each.paired.mean or 0.0))
        rows = (each.comparison(corrected.get(id(each)), measures[each.metric]) for each in found)
        return Slices(tuple(rows), len(tested))


class _Tested(NamedTuple):
    key: str
    value: str
    metric: str
    sums: _Sums
    paired: Paired

    @property
    def p_value(self) -> float:
        return 1.0 if self.paired.p_value is None else self.paired.p_value

    @property
    def certainty(self) -> float:
        """Lowest for the most certain drop, highest for the most certain gain."""
        return self.p_value if (self.paired.mean or 0.0) < 0 else 2 - self.p_value

    def comparison(self, p_value: float | None, measure: Measure) -> SliceComparison:
        count, paired = self.paired.count, self.paired
        difference = paired.mean or 0.0
        return SliceComparison(
            key=self.key,
            value=self.value,
            metric=self.metric,
            cases=count,
            baseline_mean=self.sums.baseline / count,
            candidate_mean=self.sums.candidate / count,
            difference=difference,
            low=paired.low,
            high=paired.high,
            p_value=p_value,
            verdict=verdict_of(difference, paired.low, paired.high, p_value, measure),
        )


def _divides(groups: Sequence[_ByMetric]) -> bool:
    """Whether there are several values, one of them with enough cases for a test."""
    largest = max((sums.difference.count for by_metric in groups for sums in by_metric.values()), default=0)
    return len(groups) > 1 and largest >= _FEWEST_CASES
