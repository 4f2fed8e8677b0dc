"""One metric in two runs: adds up its scores case by case, then judges the difference."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.compare.case_table import CLASSES, CaseColumn, class_counts, classify
from prompt_evaluator.compare.columns import Measure, Measured, PairedColumn, nothing_measured, paired_result
from prompt_evaluator.compare.evidence import case_evidence
from prompt_evaluator.compare.scales import FoundScale, Scale, find_scale
from prompt_evaluator.model.comparison import MetricComparison

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import CaseScores, RunFacts, SideName

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

    def add(self, scores: CaseScores) -> None:
        self.cases += 1
        self.total += scores.mean

    def expect(self, scores: CaseScores | None, other: CaseScores | None) -> None:
        """Count what a common case should have scored; `other` is the other run's."""
        if scores is None:
            self.missing += other.count + other.missing if other else 0
            self.missing_share += 1
            return
        self.scored += scores.count
        self.missing += scores.missing
        share = scores.missing / (scores.count + scores.missing)
        self.missing_share += share
        self.scored_part += scores.mean * (1 - share)

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
        self._facts = baseline, candidate
        self._expected = find_scale(name, baseline, candidate, (math.inf, -math.inf))
        self._seen = [math.inf, -math.inf]
        self.comparable = self._expected.other is None
        self.column = PairedColumn()
        self.cases, self.p_values = array("L"), array("d")
        self.baseline, self.candidate = SideScores(), SideScores()
        self.expected = 0
        self._measure = Measure(*self._expected.scale, threshold=0.0)

    def add(self, baseline: CaseScores | None, candidate: CaseScores | None) -> None:
        """Add a case of either run, common or not."""
        for side, scores in ((self.baseline, baseline), (self.candidate, candidate)):
            if scores is not None:
                side.add(scores)
                self._seen[0] = min(self._seen[0], scores.mean)
                self._seen[1] = max(self._seen[1], scores.mean)

    def add_common(self, at: int, baseline: CaseScores | None, candidate: CaseScores | None) -> bool:
        """Add a common case with its position; True if both runs scored it."""
        self.expected += 1
        self.baseline.expect(baseline, candidate)
        self.candidate.expect(candidate, baseline)
        if baseline is None or candidate is None or not self.comparable:
            return False
        self.column.add(_measured(baseline), _measured(candidate))
        self.cases.append(at)
        p_value = case_evidence(baseline, candidate, self._measure)
        self.p_values.append(math.nan if p_value is None else p_value)
        return True

    def scale(self) -> FoundScale:
        if self._seen[0] > self._seen[1]:
            return self._expected
        return find_scale(self.name, *self._facts, (self._seen[0], self._seen[1]))

    def measure(self, metric_threshold: float) -> Measure:
        found = self.scale()
        low, high = found.scale
        return Measure(low, high, metric_threshold * (high - low) / _USUAL_SPAN, is_unsure=found.is_unsure)

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
        classes = classify(sides[0].means, sides[1].means, self.p_values)
        comparison = MetricComparison(
            **msgspec.structs.asdict(result),
            baseline_mean=means[0],
            candidate_mean=means[1],
            scale=(measure.low, measure.high),
            case_classes=class_counts(classes) if self.cases else dict.fromkeys(CLASSES, 0),
        )
        column = CaseColumn(self.name, measure.span, self.cases, sides[0].means, sides[1].means, self.p_values, classes)
        return ComparedMetric(comparison, column, measure)


class ComparedMetric(NamedTuple):
    comparison: MetricComparison
    cases: CaseColumn
    measure: Measure


def _measured(scores: CaseScores) -> Measured:
    error = scores.std * scores.std / scores.count if scores.std is not None and scores.count > 1 else None
    return Measured(scores.mean, error, scores.count)
