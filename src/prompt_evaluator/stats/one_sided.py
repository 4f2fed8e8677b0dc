"""Is a drop shown, and can a larger one be ruled out? Each at its own error level, in one direction."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from prompt_evaluator.stats.distributions import t_quantile, t_two_sided
from prompt_evaluator.stats.intervals import FEWEST_CASES
from prompt_evaluator.stats.paired import Paired, Running, paired_from_running


class Drop(NamedTuple):
    """The mean drop over cases: positive is worse."""

    paired: Paired
    """Bounds each hold with a probability of 1 - level."""
    p_value: float | None
    """One-sided, that there is no drop; None below five cases."""


def one_sided_drop(running: Running, *, span: float, level: float, binary_pairs: bool = False) -> Drop:
    """Judge drops, one per case, as `paired_difference` does, with bounds and a p value for one direction each.

    Where Student's t is used, two things are added, both of which can only widen the interval:

    - Few cases that change a lot make Student's bound too narrow on the side of the change. The bound is moved by the
      skewness (Johnson 1978, inverted): with 100 cases of which 5 % lose everything, a margin of 5 points is passed in
      4 % of runs instead of 12 %.
    - Fewer than five cases that differ at all say no more than none: the bounds are at least those of equal cases, and
      the p value is at least one half to the power of their number, as in any test that swaps the sides of cases.
    """
    found = paired_from_running(running, span=span, binary_pairs=binary_pairs, tail=level)
    if found.p_value is None or found.mean is None:
        return Drop(found, None)
    p_value = found.p_value / 2 if found.mean > 0 else 1 - found.p_value / 2
    if found.method != "paired_t" or not found.std:
        return Drop(found, p_value)
    found, p_value = _unskewed(found, running, span, level)
    return _sparse(Drop(found, p_value), running, span, level)


def _unskewed(found: Paired, running: Running, span: float, level: float) -> tuple[Paired, float]:
    assert found.mean is not None and found.std is not None and found.low is not None and found.high is not None
    error = found.std / math.sqrt(found.count)
    quantile = t_quantile(1 - level, found.count - 1)
    part = running.skewness / (6 * math.sqrt(found.count))
    shift = error * abs(part) * (1 + 2 * quantile * quantile)
    low, high = (found.low, found.high + shift) if part > 0 else (found.low - shift, found.high)
    t = found.mean / error
    p_value = _upper_tail(_inverted(t, max(0.0, -part)), found.count - 1)
    return replace(found, low=max(-span, low), high=min(span, high)), p_value


def _inverted(t: float, part: float) -> float:
    """The quantile at which the lower bound, moved by the skewness, is 0."""
    if part <= 0 or t <= part:
        return t
    return min(t, (math.sqrt(1 + 8 * part * (t - part)) - 1) / (4 * part))


def _upper_tail(t: float, degrees: int) -> float:
    half = t_two_sided(t, degrees) / 2
    return half if t > 0 else 1 - half


def _sparse(drop: Drop, running: Running, span: float, level: float) -> Drop:
    differing = running.wins + running.losses
    if differing >= FEWEST_CASES:
        return drop
    found, half = drop.paired, span * (1 - level ** (1 / running.count))
    assert found.low is not None and found.high is not None and drop.p_value is not None
    wide = replace(found, low=min(found.low, -half), high=max(found.high, half))
    return Drop(wide, max(drop.p_value, 0.5**differing))
