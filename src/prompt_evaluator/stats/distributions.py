"""The beta distribution, Student's t and the normal one. Used instead of scipy, which takes a second to import."""

from __future__ import annotations

import math
from functools import cache

_TINY = 1e-300
"""Replaces a zero divisor."""
_CLOSE = 1e-15
_SETTLED = 1e-14
"""A step of this share of a quantile is rounding."""


def incomplete_beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function: the probability that a Beta(a, b) variable is at most x."""
    if not (a > 0 and b > 0 and 0 <= x <= 1):
        raise ValueError(f"the Beta({a:g}, {b:g}) distribution is not defined at {x:g}")
    if x in (0, 1):
        return float(x)
    # The fraction converges fast only on one side. In between, rounding may put both on the wrong one: either will do.
    return _lower_beta(x, a, b) if x <= (a + 1) / (a + b + 2) else 1 - _lower_beta(1 - x, b, a)


def _lower_beta(x: float, a: float, b: float) -> float:
    if x in (0, 1):  # 1 - x may have been rounded
        return float(x)
    return _front(x, a, b) * _fraction(x, a, b) / a


def _front(x: float, a: float, b: float) -> float:
    """Return the density of a Beta(a, b) variable at x, times x (1 - x)."""
    return math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x))


def beta_quantile(chance: float, a: float, b: float) -> float:
    """Return the x that a Beta(a, b) variable does not exceed with this probability.

    Newton's method, kept between bounds that halve where it would leave them: about six steps instead of fifty.
    """
    low, high, x = 0.0, 1.0, a / (a + b)
    while low < x < high:
        excess = incomplete_beta(x, a, b) - chance
        if excess < 0:
            low = x
        else:
            high = x
        slope = _front(x, a, b) / (x * (1 - x))
        better = x - excess / slope if slope else low
        if abs(better - x) < _SETTLED * x:
            return better
        x = better if low < better < high else (low + high) / 2
    return high


def student_t(degrees: int) -> float:
    """Return the two-sided 95 % point of Student's t."""
    return t_quantile(0.975, degrees)


@cache
def t_quantile(chance: float, degrees: float) -> float:
    """Return the value that Student's t does not exceed with this probability.

    t² / (t² + degrees) has a Beta(1/2, degrees/2) distribution. Cached, because all cases with the same number of
    samples need the same value.
    """
    _check_chance(chance)
    if chance <= 0.5:  # noqa: PLR2004
        return -t_quantile(1 - chance, degrees) if chance < 0.5 else 0.0  # noqa: PLR2004
    part = beta_quantile(2 * chance - 1, 0.5, degrees / 2)
    if part < 0.9:  # noqa: PLR2004
        return math.sqrt(degrees * part / (1 - part))
    rest = beta_quantile(2 * (1 - chance), degrees / 2, 0.5)  # 1 - part, without the rounding error of a difference
    return math.sqrt(degrees * (1 - rest) / rest)


def t_two_sided(t: float, degrees: float) -> float:
    """Return the probability that Student's t is at least this far from 0."""
    if math.isinf(t):
        return 0.0
    square = t * t
    if square < 1:  # from the other side, so that a small square is not lost beside the degrees
        return 1 - incomplete_beta(square / (degrees + square), 0.5, degrees / 2)
    return incomplete_beta(degrees / (degrees + square), degrees / 2, 0.5)


@cache
def normal_quantile(chance: float) -> float:
    """Return the value that a standard normal variable does not exceed with this probability."""
    from statistics import NormalDist  # noqa: PLC0415 - takes 10 ms to import; most commands need no quantile

    _check_chance(chance)
    return NormalDist().inv_cdf(chance)


def _fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function by Lentz's method (DLMF 8.17.22 and 3.10).

    Takes about sqrt(max(a, b)) steps.
    """
    c, d = 1.0, 1 / _not_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 1_000_000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / _not_zero(1 + even * d), _not_zero(1 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / _not_zero(1 + odd * d), _not_zero(1 + odd / c)
        value *= d * c
        if abs(d * c - 1) < _CLOSE:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY


def _check_chance(chance: float) -> None:
    if not 0 < chance < 1:
        raise ValueError(f"{chance:g} is not a probability between 0 and 1")
