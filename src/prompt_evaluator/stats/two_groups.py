"""Whether the means of two groups of independent values differ."""

from __future__ import annotations

import math
from typing import NamedTuple

from prompt_evaluator.stats.distributions import t_two_sided

_SMALLEST = 2
_ROUNDING = 1e-12


class Group(NamedTuple):
    """A group of values, summed up."""

    mean: float
    std: float
    """n - 1."""
    size: int


def welch(one: Group, other: Group) -> float | None:
    """Two-sided p value of Welch's t test; None if a group has fewer than two values, or neither varies."""
    if min(one.size, other.size) < _SMALLEST:
        return None
    a, b = one.std**2 / one.size, other.std**2 / other.size
    if not a + b > 0:
        return None
    degrees = (a + b) ** 2 / (a * a / (one.size - 1) + b * b / (other.size - 1))
    return t_two_sided((one.mean - other.mean) / math.sqrt(a + b), degrees)


def pooled(one: Group, other: Group) -> float | None:
    """Two-sided p value of Student's t test, which takes both groups to vary alike; None as for `welch`."""
    if min(one.size, other.size) < _SMALLEST:
        return None
    degrees = one.size + other.size - 2
    variance = ((one.size - 1) * one.std**2 + (other.size - 1) * other.std**2) / degrees
    if not variance > 0:
        return None
    error = math.sqrt(variance * (1 / one.size + 1 / other.size))
    return t_two_sided((one.mean - other.mean) / error, degrees)


def means_differ(one: Group, other: Group) -> float | None:
    """The larger of the two p values; None if a group has fewer than two values.

    Scores cluster at an end of their scale, where a few of them often have no spread at all by chance. Welch's test
    takes that for certainty: five cases out of five that pass, where nine in ten pass, get p = 0.002.
    """
    if min(one.size, other.size) < _SMALLEST:
        return None
    first, second = welch(one, other), pooled(one, other)
    if first is None or second is None:
        # Nothing varies in either: the probability of drawing exactly this division of the values, or its mirror.
        return 1.0 if one.mean == other.mean else _division(one.size, other.size)
    return max(first, second)


def without(every: Group, part: Group) -> Group | None:
    """The group that is left without some of its values; None if nothing is left."""
    size = every.size - part.size
    if size < 1:
        return None
    mean = (every.size * every.mean - part.size * part.mean) / size
    between = part.size * (part.mean - every.mean) ** 2 + size * (mean - every.mean) ** 2
    squares = every.std**2 * (every.size - 1) - part.std**2 * (part.size - 1) - between
    if size == 1 or squares <= _ROUNDING * every.std**2 * every.size:
        return Group(mean, 0.0, size)
    return Group(mean, math.sqrt(squares / (size - 1)), size)


def _division(one: int, other: int) -> float:
    ways = math.lgamma(one + other + 1) - math.lgamma(one + 1) - math.lgamma(other + 1)
    return math.exp(min(0.0, math.log(2) - ways))
