"""How many more cases or samples would decide, and what can be seen with those at hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from prompt_evaluator.gate.columns import ROUNDING
from prompt_evaluator.stats.distributions import t_quantile
from prompt_evaluator.stats.intervals import FEWEST_CASES
from prompt_evaluator.stats.power import cases_needed, detectable, samples_factor

if TYPE_CHECKING:
    from prompt_evaluator.gate.columns import Column, Measure
    from prompt_evaluator.stats.paired import Paired

POWER = 0.8


def more_cases(found: Paired, measure: Measure, level: float) -> int | None:
    """About how many more cases would decide four times in five: at least one."""
    if found.count < FEWEST_CASES or found.mean is None or found.std is None:
        return FEWEST_CASES - found.count
    totals = (_total(found, measure, distance, level) for distance in _distances(found.mean, measure))
    return next((total - found.count for total in totals if total is not None and total > found.count), None)


def more_samples(column: Column, found: Paired, measure: Measure, level: float) -> int | None:
    """About how many more samples per case would decide; None if no number would, or if that is not known."""
    errors = column.baseline.error, column.candidate.error
    if not found.std or errors[0] is None or errors[1] is None or found.mean is None:
        return None
    within = errors[0] + errors[1]
    between = max(0.0, found.std * found.std - within)
    samples = round(max(column.baseline.samples, column.candidate.samples) / found.count)
    for distance in _distances(found.mean, measure):
        factor = samples_factor(between, within, found.count, distance, tail=level)
        if factor is not None and (more := math.ceil(factor * samples - ROUNDING) - samples) > 0:
            return more
    return None


def smallest_drop(std: float | None, count: int, margin: float, level: float) -> float | None:
    """The true drop that fails four times in five: significant, and estimated beyond the margin."""
    shown = detectable(std, count, power=POWER, tail=level)
    if shown is None or not std:
        return None
    return max(shown, margin + t_quantile(POWER, count - 1) * std / math.sqrt(count))


def equal_cases_needed(margin: float, span: float, level: float) -> int | None:
    """How many cases that are all equal rule out a drop of the margin: others may drop by the whole scale."""
    if margin <= 0:
        return None
    if margin >= span:
        return FEWEST_CASES
    return max(FEWEST_CASES, math.floor(math.log(level) / math.log1p(-margin / span)) + 1)


def _distances(drop: float, measure: Measure) -> tuple[float, float]:
    """What has to be told apart: no drop and the margin; if that is possible, the drop as it seems and the margin."""
    return measure.margin, abs(measure.margin - drop)


def _total(found: Paired, measure: Measure, distance: float, level: float) -> int | None:
    """Cases for telling apart two drops this far from each other, if they vary as those at hand."""
    if not distance > ROUNDING * measure.span or found.std is None:
        return None
    needed = cases_needed(found.std, distance, tail=level) if found.std else FEWEST_CASES
    equal = equal_cases_needed(distance, measure.span, level) if _hardly_differ(found) else FEWEST_CASES
    return max(needed, equal) if needed is not None and equal is not None else None


def _hardly_differ(found: Paired) -> bool:
    """Whether the interval may be the one for equal cases, which is wider than the spread explains."""
    if not found.std or found.high is None or found.mean is None:
        return True
    widest = 1.5 * t_quantile(0.99, found.count - 1) * found.std / math.sqrt(found.count)
    return found.method == "exact_paired" or found.high - found.mean > widest
