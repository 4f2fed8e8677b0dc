"""One measure of the common cases in two runs, as columns of numbers."""

from __future__ import annotations

import math
from array import array
from typing import TYPE_CHECKING, Literal, NamedTuple

from prompt_evaluator.model.gate import RATE_MARGIN
from prompt_evaluator.stats.paired import Running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison import CaseScores, SideName
    from prompt_evaluator.model.gate import GatePolicy
    from prompt_evaluator.model.query import CaseFlag

Imputed = Literal["worst", "best"]
"""What the scores that are missing are taken to be, as far as the candidate is concerned."""
ROUNDING = 1e-9
"""Differences of this share of the scale are rounding errors."""


class Measured(NamedTuple):
    """A case in one run."""

    mean: float
    error: float | None
    """Variance of the mean, from the samples of the case; None for a single sample."""
    samples: int
    missing: int = 0
    """Samples without a score."""


class Measure(NamedTuple):
    """On what scale something is measured, and which drop may pass."""

    low: float
    high: float
    margin: float
    good: int = 1
    """-1 if lower is better."""

    @property
    def span(self) -> float:
        return self.high - self.low


class PairOfMeans(NamedTuple):
    """A case's position and its means."""

    at: int
    baseline: float
    candidate: float


class Side:
    """What one run measured."""

    __slots__ = ("cases", "errors", "expected", "known", "lost", "means", "samples", "total", "unscored")

    def __init__(self) -> None:
        self.means, self.lost = array("d"), array("d")
        """By case: mean of the scores that there are, and share of those that are missing."""
        self.cases = self.samples = self.unscored = self.known = 0
        self.total = self.errors = 0.0
        self.expected = False
        """Whether the run is known to lack a score that it should have."""

    def add(self, found: Measured | None, other: Measured | None, missing: int) -> None:
        """Add a case; `missing` is how many scores should be there if there is none."""
        if found is None:
            self.means.append(math.nan)
            self.lost.append(1.0)
            self.expected |= missing > 0
            self.unscored += missing or (other.samples + other.missing if other else 0)
            return
        self.means.append(found.mean)
        self.lost.append(found.missing / (found.samples + found.missing))
        self.unscored += found.missing
        self.cases += 1
        self.total += found.mean
        self.samples += found.samples
        if found.error is not None:
            self.errors += found.error
            self.known += 1

    @property
    def error(self) -> float | None:
        """What the samples of a case add to the variance between cases, on average."""
        return self.errors / self.known if self.known else None

    @property
    def mean(self) -> float | None:
        return self.total / self.cases if self.cases else None

    def value(self, at: int, end: float) -> float:
        """A case's mean if its missing scores were at this end of the scale."""
        lost = self.lost[at]
        if not lost:
            return self.means[at]
        return end if lost == 1 else self.means[at] * (1 - lost) + end * lost


class Column:
    """The common cases of two runs."""

    def __init__(self) -> None:
        self.baseline, self.candidate = Side(), Side()
        self.seen = [math.inf, -math.inf]

    def add(self, baseline: Measured | None, candidate: Measured | None, unscored: tuple[int, int] = (0, 0)) -> None:
        """Add a common case; `unscored` are the scores that should be there where there is none."""
        self.baseline.add(baseline, candidate, unscored[0])
        self.candidate.add(candidate, baseline, unscored[1])
        for found in (baseline, candidate):
            if found is not None:
                self.seen[0] = min(self.seen[0], found.mean)
                self.seen[1] = max(self.seen[1], found.mean)

    @property
    def missing(self) -> SideName | None:
        """The run that did not measure it, if the other did; a run all of whose scores failed tried to."""
        if bool(self.baseline.cases) == bool(self.candidate.cases):
            return None
        side: SideName = "candidate" if self.baseline.cases else "baseline"
        return None if getattr(self, side).expected else side

    @property
    def is_complete(self) -> bool:
        return not self.baseline.unscored and not self.candidate.unscored

    def pairs(self, measure: Measure, imputed: Imputed | None = None) -> Iterator[PairOfMeans]:
        """Cases that both measured, or all of them with missing scores imputed."""
        bad, good = (measure.low, measure.high) if measure.good > 0 else (measure.high, measure.low)
        ours, theirs = (good, bad) if imputed == "worst" else (bad, good)
        for at, (first, second) in enumerate(zip(self.baseline.lost, self.candidate.lost, strict=True)):
            if imputed is not None:
                yield PairOfMeans(at, self.baseline.value(at, ours), self.candidate.value(at, theirs))
            elif first < 1 and second < 1:
                yield PairOfMeans(at, self.baseline.means[at], self.candidate.means[at])

    def drops(self, measure: Measure, imputed: Imputed | None = None) -> Running:
        """By how much the candidate is worse, over cases."""
        running = Running()
        for _, baseline, candidate in self.pairs(measure, imputed):
            running.add((baseline - candidate) * measure.good)
        return running

    def passes_or_fails(self, measure: Measure) -> bool:
        """Whether there is one sample per case on both sides, each at one end of the scale."""
        for side in (self.baseline, self.candidate):
            if side.samples != side.cases or any(
                mean not in (measure.low, measure.high) for mean in side.means if not math.isnan(mean)
            ):
                return False
        return True


def measured_scores(scores: CaseScores | None) -> Measured | None:
    if scores is None:
        return None
    error = scores.std * scores.std / scores.count if scores.std is not None and scores.count > 1 else None
    return Measured(scores.mean, error, scores.count, scores.missing)


def measured_flag(flag: CaseFlag | None) -> Measured | None:
    if flag is None or not flag.asked:
        return None
    share = flag.raised / flag.asked
    return Measured(share, share * (1 - share) / (flag.asked - 1) if flag.asked > 1 else None, flag.asked)


def measured_amount(amount: float | None) -> Measured | None:
    """A cost or a time, which has no spread of its own."""
    return None if amount is None else Measured(amount, None, 1)


def flag_measure(policy: GatePolicy, name: str) -> Measure:
    """How a flag is judged: by the margin among the metrics, or else among the guardrails."""
    given = (policy.metrics or {}).get(name)
    margin = policy.guardrails.flag_margin(name) if given is None else given
    return Measure(0.0, 1.0, RATE_MARGIN if margin is None else margin, good=-1)
