"""One metric in two runs: adds up its scores case by case, then judges the difference."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from prompt_evaluator.compare.case_table import CaseColumn, class_counts, classify
from prompt_evaluator.compare.columns import Measure, Measured, PairedColumn, nothing_measured, paired_result
from prompt_evaluator.compare.evidence import FEWEST_SAMPLES, case_evidence
from prompt_evaluator.compare.scales import find_scale
from prompt_evaluator.compare.slices import CaseMeans
from prompt_evaluator.model.comparison import MetricComparison

if TYPE_CHECKING:
    from prompt_evaluator.compare.blocks import Block, ScoreBlock
    from prompt_evaluator.compare.scales import Scale
    from prompt_evaluator.model.comparison import RunFacts, SideName
    from prompt_evaluator.stats.packed import Bools, Counts, Floats, Ints

_USUAL_SPAN = 4.0
"""Of the scale from 1 to 5, for which the threshold is given."""


class SideScores:
    """What one run scored: in all its cases, and how many scores are missing in the common ones."""

    __slots__ = ("cases", "missing", "missing_share", "scored", "scored_part", "total")

    def __init__(self) -> None:
        self.cases = 0
        self.total = 0.0
        self.scored = self.missing = 0
        self.scored_part = self.missing_share = 0.0

    def add(self, scores: ScoreBlock) -> None:
        self.cases += int(scores.known.sum())
        self.total += float(scores.mean[scores.known].sum())

    def expect(self, scores: ScoreBlock | None, other: ScoreBlock | None, common: Bools) -> None:
        """Count what common cases should have scored; `other` is the other run's."""
        there = common & scores.known if scores is not None else np.zeros_like(common)
        if other is not None:
            absent = common & other.known & ~there
            self.missing += int((other.count + other.missing)[absent].sum())
            self.missing_share += int(absent.sum())
        if scores is not None:
            count, missing = scores.count[there], scores.missing[there]
            shares = missing / (count + missing)
            self.scored += int(count.sum())
            self.missing += int(missing.sum())
            self.missing_share += float(shares.sum())
            self.scored_part += float((scores.mean[there] * (1 - shares)).sum())

    @property
    def mean(self) -> float | None:
        return self.total / self.cases if self.cases else None

    @property
    def share_missing(self) -> float:
        return self.missing / (self.scored + self.missing) if self.missing else 0.0

    def extremes(self, scale: Scale) -> Scale:
        """Sums over cases if every missing score were the lowest, and if it were the highest."""
        return self.scored_part + self.missing_share * scale[0], self.scored_part + self.missing_share * scale[1]


class MetricTally:
    """The scores of one metric."""

    def __init__(self, name: str, baseline: RunFacts, candidate: RunFacts) -> None:
        self.name = name
        self.scale = find_scale(name, baseline, candidate)
        self.comparable = self.scale.other is None
        self.column = PairedColumn()
        self._cases: list[Counts] = []
        self._p_values: list[Floats] = []
        self.baseline, self.candidate = SideScores(), SideScores()
        self.expected = 0
        self._measure = Measure(*self.scale.scale, threshold=0.0)

    def add(self, block: Block, sides: tuple[ScoreBlock | None, ScoreBlock | None], start: int) -> CaseMeans | None:
        """Add the cases of a block, whose first common case is number `start`; return the means of those compared."""
        baseline, candidate = sides
        for side, scores in ((self.baseline, baseline), (self.candidate, candidate)):
            if scores is not None and scores.known.any():
                side.add(scores)
        known = [side.known for side in sides if side is not None]
        self.expected += int((block.common & np.logical_or.reduce(known)).sum())
        self.baseline.expect(baseline, candidate, block.common)
        self.candidate.expect(candidate, baseline, block.common)
        if baseline is None or candidate is None or not self.comparable:
            return None
        both = np.flatnonzero(block.common & baseline.known & candidate.known)
        self.column.add(_measured(baseline, both), _measured(candidate, both))
        rows = (np.cumsum(block.common) - 1)[both]
        self._cases.append((rows + start).astype(np.uint32))
        self._p_values.append(self._evidence(baseline, candidate, both))
        return CaseMeans(self.name, rows, baseline.mean[both], candidate.mean[both])

    def _evidence(self, baseline: ScoreBlock, candidate: ScoreBlock, cases: Ints) -> Floats:
        """P values; NaN where there are too few samples, which is looked for first: then no case is read by itself."""
        found = np.full(len(cases), math.nan)
        fewest = np.minimum(baseline.count[cases], candidate.count[cases])
        for row in np.flatnonzero(fewest >= FEWEST_SAMPLES).tolist():
            case = int(cases[row])
            p_value = case_evidence(baseline.case(case), candidate.case(case), self._measure)
            found[row] = math.nan if p_value is None else p_value
        return found

    def measure(self, metric_threshold: float) -> Measure:
        low, high = self.scale.scale
        return Measure(low, high, metric_threshold * (high - low) / _USUAL_SPAN)

    @property
    def missing_side(self) -> SideName | None:
        """The run that has no score at all, if the other has any."""
        if bool(self.baseline.cases) == bool(self.candidate.cases):
            return None
        return "candidate" if self.baseline.cases else "baseline"

    def finish(self, metric_threshold: float) -> ComparedMetric:
        measure = self.measure(metric_threshold)
        missing = self.missing_side
        sides = self.column.baseline, self.column.candidate
        if missing:
            result = nothing_measured(measure, missing)
            means = self.baseline.mean, self.candidate.mean
        else:
            result = paired_result(self.column, measure)
            means = sides[0].mean, sides[1].mean
        p_values = np.concatenate(self._p_values) if self._p_values else np.empty(0)
        cases = np.concatenate(self._cases) if self._cases else np.empty(0, dtype=np.uint32)
        classes = classify(sides[0].means, sides[1].means, p_values)
        comparison = MetricComparison(
            **msgspec.structs.asdict(result),
            baseline_mean=means[0],
            candidate_mean=means[1],
            scale=(measure.low, measure.high),
            case_classes=class_counts(classes),
        )
        column = CaseColumn(self.name, measure.span, cases, sides[0].means, sides[1].means, p_values, classes)
        return ComparedMetric(comparison, column, measure)


class ComparedMetric(NamedTuple):
    comparison: MetricComparison
    cases: CaseColumn
    measure: Measure


def _measured(scores: ScoreBlock, cases: Ints) -> Measured:
    std, count = scores.std[cases], scores.count[cases]
    return Measured(scores.mean[cases], np.where(count > 1, std * std / count, math.nan), count)
