"""One measure of the common cases in two runs: their means as columns, and from these the difference and a verdict."""

from __future__ import annotations

import math
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from prompt_evaluator.model.comparison import PairedResult
from prompt_evaluator.stats.intervals import FEWEST_CASES
from prompt_evaluator.stats.paired import Running, paired_from_running
from prompt_evaluator.stats.power import cases_needed, detectable, samples_factor

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison import CompareVerdict, SideName
    from prompt_evaluator.stats.packed import Floats, Ints
    from prompt_evaluator.stats.paired import Paired

SIGNIFICANT = 0.05
ROUNDING = 1e-9
"""Differences of this share of the scale are rounding errors."""
_SIGN_TEST_CASES = 6
"""All in one direction are significant: 2 / 2 to the power of 6 is 0.031."""
_TAIL = 0.025
_AT_ONCE = 4_096
_SQUARE = 1.959964**2


class Measured(NamedTuple):
    """The means of some cases in one run."""

    mean: Floats
    error: Floats
    """Variance of each mean, from the samples of the case; NaN for a single sample."""
    samples: Ints


class Side:
    """What is added up of one run."""

    def __init__(self) -> None:
        self._means: list[Floats] = []
        self.errors = 0.0
        self.known = 0
        self.samples = 0

    def add(self, measured: Measured) -> None:
        self._means.append(measured.mean)
        self.samples += int(measured.samples.sum())
        known = measured.error[~np.isnan(measured.error)]
        self.errors += float(known.sum())
        self.known += len(known)

    @property
    def means(self) -> Floats:
        """In one piece, which replaces the pieces."""
        if len(self._means) != 1:
            self._means = [np.concatenate(self._means) if self._means else np.empty(0)]
        return self._means[0]

    @property
    def mean(self) -> float | None:
        """Equal means have exactly that mean."""
        means = self.means
        if not len(means):
            return None
        low = float(means.min())
        return low if low == means.max() else math.fsum(_each(means)) / len(means)

    @property
    def error(self) -> float | None:
        """What the samples of a case add to the variance between cases, on average."""
        return self.errors / self.known if self.known else None


class PairedColumn:
    """The common cases that both runs measured."""

    def __init__(self) -> None:
        self.baseline, self.candidate = Side(), Side()

    def __len__(self) -> int:
        return len(self.baseline.means)

    def add(self, baseline: Measured, candidate: Measured) -> None:
        self.baseline.add(baseline)
        self.candidate.add(candidate)

    def differences(self) -> Floats:
        return self.candidate.means - self.baseline.means

    def passes_or_fails(self, low: float, high: float) -> bool:
        """Whether there is one sample per case on both sides, each at one end of the scale."""
        sides = (self.baseline, self.candidate)
        if any(side.samples != len(self) for side in sides):
            return False
        return all(bool(((side.means == low) | (side.means == high)).all()) for side in sides)


class Measure(NamedTuple):
    """On what scale something is measured, and which difference matters."""

    low: float
    high: float
    threshold: float
    good: int = 1
    """-1 if lower is better."""

    @property
    def span(self) -> float:
        return self.high - self.low


def paired_result(column: PairedColumn, measure: Measure) -> PairedResult:
    """Judge the difference between the two sides of a column."""
    differences = column.differences()
    binary = column.passes_or_fails(measure.low, measure.high)
    running = Running()
    running.extend(differences)
    paired = paired_from_running(running, span=measure.span, binary_pairs=binary)
    if paired.mean is None:
        return nothing_measured(measure)
    wins, losses = _wins_and_losses(differences, measure)
    return PairedResult(
        cases=paired.count,
        difference=paired.mean,
        low=paired.low,
        high=paired.high,
        p_value=paired.p_value,
        method=paired.method,
        effect_size=paired.effect_size,
        wins=wins,
        losses=losses,
        ties=paired.count - wins - losses,
        threshold=measure.threshold,
        verdict=verdict_of(paired.mean, paired.low, paired.high, paired.p_value, measure),
        missing=None,
        more_cases_needed=_more_cases(paired, measure),
        more_samples_needed=_more_samples(column, paired.std, measure),
        detectable=detectable(paired.std, paired.count),
    )


def nothing_measured(measure: Measure, missing: SideName | None = None) -> PairedResult:
    """The result for no case that both have measured: worse if one side has measured nothing at all."""
    return PairedResult(
        cases=0,
        difference=None,
        low=None,
        high=None,
        p_value=None,
        method=None,
        effect_size=None,
        wins=0,
        losses=0,
        ties=0,
        threshold=measure.threshold,
        verdict="worse" if missing else "inconclusive",
        missing=missing,
        more_cases_needed=None,
        more_samples_needed=None,
        detectable=None,
    )


def verdict_of(
    difference: float, low: float | None, high: float | None, p_value: float | None, measure: Measure
) -> CompareVerdict:
    """A difference of exactly the threshold is not beyond it, even if rounding has made it a little larger."""
    limit = measure.threshold + ROUNDING * measure.span
    if p_value is not None and p_value < SIGNIFICANT and abs(difference) > limit:
        return "worse" if difference * measure.good < 0 else "better"
    if low is not None and high is not None and -limit <= low and high <= limit:
        return "no_difference"
    return "inconclusive"


def _each(values: Floats) -> Iterator[float]:
    """One after the other, without a list of all."""
    pieces = (values[start : start + _AT_ONCE].tolist() for start in range(0, len(values), _AT_ONCE))
    return chain.from_iterable(pieces)


def _wins_and_losses(differences: Floats, measure: Measure) -> tuple[int, int]:
    slack = ROUNDING * measure.span
    higher, lower = int((differences > slack).sum()), int((differences < -slack).sum())
    return (higher, lower) if measure.good > 0 else (lower, higher)


def _more_cases(paired: Paired, measure: Measure) -> int | None:
    if paired.count < FEWEST_CASES:  # too few to estimate from
        return FEWEST_CASES - paired.count
    if paired.mean is None or paired.std is None or not measure.threshold:
        return None
    if paired.std:
        needed = cases_needed(paired.std, measure.threshold)
    else:
        needed = _flat_cases_needed(abs(paired.mean), measure)
    return None if needed is None else max(0, needed - paired.count)


def _flat_cases_needed(difference: float, measure: Measure) -> int | None:
    """How many cases that all differ by the same amount give a verdict; None if it is just the threshold.

    Beyond the threshold, as many as the sign test needs. Within it, as many as keep a 95 % bound on the cases that
    might differ by the whole scale within it; Tango's interval, for passes and failures, needs one or two more.
    """
    if abs(difference - measure.threshold) <= ROUNDING * measure.span:
        return None
    if difference > measure.threshold:
        return _SIGN_TEST_CASES
    if measure.threshold >= measure.span:
        return FEWEST_CASES
    share = (measure.span - measure.threshold) / (measure.span - difference)
    exact = max(FEWEST_CASES, math.ceil(math.log(_TAIL) / math.log(share)))
    tango = math.ceil(_SQUARE * share / (1 - share))
    return max(exact, tango)


def _more_samples(column: PairedColumn, std: float | None, measure: Measure) -> int | None:
    errors = column.baseline.error, column.candidate.error
    if not std or errors[0] is None or errors[1] is None:
        return None
    within = errors[0] + errors[1]
    factor = samples_factor(max(0.0, std * std - within), within, len(column), measure.threshold)
    if factor is None:
        return None
    samples = round(max(column.baseline.samples, column.candidate.samples) / len(column))
    return max(0, math.ceil(factor * samples - ROUNDING) - samples)
