"""Is a drop shown, and can a larger one be ruled out? Each at its own error level, in one direction."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from prompt_evaluator.stats.distributions import beta_quantile, t_quantile, t_two_sided
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

    Tango's bound is a little too narrow if all passes and failures that differ do so in the same direction: of 52 equal
    cases, it rules out 5 points, with 6.9 % instead of 5 % of luck. There it is widened to the exact one.

    Where Student's t is used, two things are added, both of which can only widen the interval:

    - Few cases that change a lot make Student's bound too narrow on the side of the change. The bound is moved by the
      skewness (Johnson 1978, inverted): with 100 cases of which 5 % lose everything, a margin of 5 points is passed in
      4 % of runs instead of 12 %.
    - Fewer than five cases that differ at all say no more than none: the bounds are at least those of equal cases, and
      the p value is at least one half to the power of their number, as in any test that swaps the sides of cases.
    """
    found = paired_from_running(running, span=span, binary_pairs=binary_pairs, tail=level)
    if found.p_value is None or found.mean is None or found.low is None or found.high is None:
        return Drop(found, None)
    p_value = found.p_value / 2 if found.mean > 0 else 1 - found.p_value / 2
    if found.method == "exact_paired":
        low, high = _one_way(running, found.low, found.high, span, level)
        return Drop(replace(found, low=low, high=high), p_value)
    if found.method != "paired_t" or not found.std:
        return Drop(found, p_value)
    bounds = _unskewed(running, _Bounds(found.low, found.high, p_value), found.std, level)
    low, high, p_value = _sparse(running, bounds, span, level)
    return Drop(replace(found, low=max(-span, low), high=min(span, high)), p_value)


def _one_way(running: Running, low: float, high: float, span: float, level: float) -> tuple[float, float]:
    """Widen to the exact bound of a share where all cases that differ do so in the same direction."""
    if not running.losses:
        high = max(high, span * _upper_share(running.wins, running.count, level))
    if not running.wins:
        low = min(low, -span * _upper_share(running.losses, running.count, level))
    return low, high


def _upper_share(count: int, total: int, level: float) -> float:
    """Clopper and Pearson's upper bound."""
    return 1 - beta_quantile(level, total - count, count + 1) if count < total else 1.0


class _Bounds(NamedTuple):
    low: float
    high: float
    p_value: float


def _unskewed(running: Running, bounds: _Bounds, std: float, level: float) -> _Bounds:
    degrees = running.count - 1
    error = std / math.sqrt(running.count)
    quantile = t_quantile(1 - level, degrees)
    part = running.skewness / (6 * math.sqrt(running.count))
    shift = error * abs(part) * (1 + 2 * quantile * quantile)
    if part > 0:
        return bounds._replace(high=bounds.high + shift)
    p_value = _upper_tail(_inverted(running.mean / error, -part), degrees)
    return _Bounds(bounds.low - shift, bounds.high, max(bounds.p_value, p_value))


def _inverted(t: float, part: float) -> float:
    """The quantile at which the lower bound, moved by the skewness, is 0."""
    if part <= 0 or t <= part:
        return t
    return min(t, 2 * (t - part) / (1 + math.sqrt(1 + 8 * part * (t - part))))  # without the difference of near equals


def _upper_tail(t: float, degrees: int) -> float:
    half = t_two_sided(t, degrees) / 2
    return half if t > 0 else 1 - half


def _sparse(running: Running, bounds: _Bounds, span: float, level: float) -> _Bounds:
    differing = running.wins + running.losses
    if differing >= FEWEST_CASES:
        return bounds
    half = span * (1 - level ** (1 / running.count))
    return _Bounds(min(bounds.low, -half), max(bounds.high, half), max(bounds.p_value, 0.5**differing))
