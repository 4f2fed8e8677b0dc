"""What the samples of one case say about a drop or a gain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from prompt_evaluator.compare.columns import ROUNDING, Measure
from prompt_evaluator.stats.exact import fisher_less, permutation_less

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import CaseScores

FEWEST_SAMPLES = 3


def case_evidence(baseline: CaseScores, candidate: CaseScores, measure: Measure) -> float | None:
    """One-sided p value in the direction of the difference; 1 if there is no difference.

    None below three samples on one side, or if their scores are not known. Scores at the two ends of the scale are
    passes and failures, for which the permutation test is Fisher's.
    """
    if min(baseline.count, candidate.count) < FEWEST_SAMPLES:
        return None
    difference = candidate.mean - baseline.mean
    same = abs(difference) <= ROUNDING * measure.span
    better, worse = (baseline, candidate) if difference < 0 else (candidate, baseline)
    if better.values is not None and worse.values is not None:
        return 1.0 if same else permutation_less(better.values, worse.values)
    high, low = _passes(better, measure), _passes(worse, measure)
    if high is None or low is None:
        return None
    return 1.0 if same else fisher_less(high, better.count, low, worse.count)


def _passes(scores: CaseScores, measure: Measure) -> int | None:
    """How many samples are at the upper end of the scale, if all the others are at the lower end; None otherwise.

    If the scores themselves are not known, their standard deviation tells: among scores with a given mean, it is
    largest if all of them are at the ends.
    """
    if scores.values is not None:
        if not all(value in (measure.low, measure.high) for value in scores.values):
            return None
        return scores.values.count(measure.high)
    share = (scores.mean - measure.low) / measure.span
    passes = round(share * scores.count)
    if not 0 <= passes <= scores.count or abs(share * scores.count - passes) > ROUNDING * scores.count:
        return None
    widest = math.sqrt(share * (1 - share) * scores.count / (scores.count - 1)) if 0 < passes < scores.count else 0.0
    if scores.std is None or abs(scores.std / measure.span - widest) > _PRINTED:
        return None
    return passes


_PRINTED = 1e-6
"""Rounding of standard deviations in files."""
