"""Confidence intervals of means and proportions."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.stats.distributions import beta_quantile, student_t
from prompt_evaluator.stats.spread import Spread, spread

if TYPE_CHECKING:
    from collections.abc import Sequence

FEWEST_CASES = 5
"""With fewer cases there is no interval: it would say more about the method than about the cases."""
_FOR_SKEW = 0.4
"""Scores cluster at one end of their scale, where Student's interval of 5 means covers 93 % (Beta(8, 2)). Widened by
this number divided by the number of cases, it covers 94 %; that adds 8 % width with 5 cases and 1 % with 30."""
_NORMAL = 1.959964
_TAIL = 0.025


class Interval(NamedTuple):
    """A 95 % confidence interval."""

    low: float
    high: float


def mean_interval(
    mean: float, std: float | None, count: int, bounds: tuple[float, float] | None = None
) -> Interval | None:
    """Student's interval of a mean of independent values, clipped to their scale. None for fewer than two values."""
    if std is None or count < 2:  # noqa: PLR2004
        return None
    half = student_t(count - 1) * std / math.sqrt(count)
    low, high = bounds or (-math.inf, math.inf)
    return Interval(max(low, mean - half), min(high, mean + half))


def case_mean_interval(case_means: Sequence[float], scale: tuple[float, float]) -> Interval | None:
    """Interval of the mean over cases: Student's, or the exact one if every case is at an end of the scale.

    Pass one value per case: samples of the same case are not independent, and treating them as if they were would
    make the interval too narrow. Cases that lie only at the two ends are successes and failures. If all lie at the
    same end, Student's interval would have no width; the exact one holds for any bounded score, because the
    probability of that is at most the mean's share of the scale to the power of the number of cases.
    """
    if len(case_means) < FEWEST_CASES:
        return None
    numbers = spread(case_means)
    if numbers is None:
        return None
    low, high = scale
    at_ends = sum(mean == low for mean in case_means), sum(mean == high for mean in case_means)
    return summed_interval(numbers, at_ends, scale)


def summed_interval(numbers: Spread, at_ends: tuple[int, int], scale: tuple[float, float]) -> Interval | None:
    """The same, of case means that were summed up, with how many of them lie at the lower and the upper end."""
    if numbers.count < FEWEST_CASES:
        return None
    low, high = scale
    if sum(at_ends) == numbers.count:
        shares = clopper_pearson(at_ends[1], numbers.count)
        return Interval(*(low * (1 - share) + high * share for share in shares))
    if not numbers.std:  # all equal, inside the scale: that says nothing about other cases
        return None
    return mean_interval(numbers.mean, numbers.std * (1 + _FOR_SKEW / numbers.count), numbers.count, scale)


def clustered_share_interval(raised: Sequence[float], asked: Sequence[float]) -> Interval | None:
    """Interval of sum(raised) / sum(asked), with one number of each per case.

    Samples of one case may all be identical, as at temperature 0, so they are treated as such: this is the exact
    interval with the effective sample size of fully correlated clusters (Kish 1965), which equals the number of cases
    if all have the same number of samples. It depends only on the totals, not on which cases raised the flag, so
    raising it more often never lowers a bound.
    """
    squares = math.fsum(count**2 for count in asked)
    return summed_share_interval(math.fsum(raised), math.fsum(asked), squares, sum(map(bool, asked)))


def summed_share_interval(raised: float, asked: float, asked_squares: float, cases: int) -> Interval | None:
    """The same, of numbers that were summed up, with how many cases were asked."""
    if cases < FEWEST_CASES:
        return None
    effective = asked**2 / asked_squares
    return clopper_pearson(raised / asked * effective, effective)


@lru_cache(maxsize=1_024)
def wilson(passed: float, total: float, *, z: float = _NORMAL) -> Interval:
    """Wilson's score interval of a proportion, 95 % by default; reliable for few samples and for none or all passing.

    Counts may be fractional, as an effective sample size is. Cached, because many cases have the same counts.
    """
    _check(passed, total)
    share, square = passed / total, z * z
    centre = (share + square / (2 * total)) / (1 + square / total)
    half = z / (1 + square / total) * math.sqrt(share * (1 - share) / total + square / (4 * total * total))
    # At these ends the formula gives exactly 0 and 1, up to rounding.
    return Interval(
        0.0 if passed == 0 else max(0.0, centre - half), 1.0 if passed == total else min(1.0, centre + half)
    )


def clopper_pearson(passed: float, total: float) -> Interval:
    """Exact 95 % interval of a proportion: covers it at least 95 % of the time, whatever the proportion."""
    _check(passed, total)
    failed = total - passed
    return Interval(
        beta_quantile(_TAIL, passed, failed + 1) if passed else 0.0,
        1 - beta_quantile(_TAIL, failed, passed + 1) if failed else 1.0,
    )


def _check(passed: float, total: float) -> None:
    if total <= 0 or not 0 <= passed <= total:
        raise ValueError(f"{passed} of {total} is not a proportion")
