"""What a comparison can show, and what it would take to show more.

A two-sided paired t test at 5 %, or a one-sided one with a tail of 2.5 %, shows a true difference of
(t(0.975) + t(power)) standard errors with this power; in the same way, it shows that a true difference of 0 is smaller
than that. Quantiles are those of Student's t for the number of cases. Against the noncentral t this is low by 1.2 % for
5 cases and by less than 0.2 % from 10 cases on.
"""

from __future__ import annotations

import math

from prompt_evaluator.stats.distributions import normal_quantile, t_quantile
from prompt_evaluator.stats.intervals import FEWEST_CASES

_TAIL = 0.025
_LIKE_NORMAL = 100_000
"""With this many cases or more, Student's t is the normal distribution, to five digits."""
_OUT_OF_REACH = 1e6
"""A spread of this many differences would take a trillion cases."""


def detectable(std: float | None, count: int, *, power: float = 0.8, tail: float = _TAIL) -> float | None:
    """Smallest true mean difference that `count` cases show with this power. None below five cases or without spread.

    `std` is the standard deviation of the cases' differences.
    """
    if not std or count < FEWEST_CASES:
        return None
    return _errors(count, power, tail) * std / math.sqrt(count)


def cases_needed(std: float, difference: float, *, power: float = 0.8, tail: float = _TAIL) -> int | None:
    """How many cases in total show this true difference with this power: at least five.

    None if no number that anybody has would: for a difference of 0, or one a million times smaller than the spread.
    """
    difference = abs(difference)
    if std > _OUT_OF_REACH * difference or not difference:
        return None
    normal = normal_quantile(1 - tail) + normal_quantile(power)
    count = max(FEWEST_CASES, math.floor((normal * std / difference) ** 2))
    while _errors(count, power, tail) * std > difference * math.sqrt(
        count
    ):  # a few times: t exceeds the normal quantile
        count += 1
    return count


def samples_factor(  # noqa: PLR0913 - two variances, and what to show with them
    between_variance: float,
    within_variance: float,
    count: int,
    difference: float,
    *,
    power: float = 0.8,
    tail: float = _TAIL,
) -> float | None:
    """By which factor the samples per case must grow so that `count` cases show this true difference.

    The variance of the cases' differences is `between_variance`, which is the same however many samples there are, plus
    `within_variance`, which is what the samples at hand add to it. 1 if they are enough; None if no number is.
    """
    if count < FEWEST_CASES:
        return None
    allowed = count * (difference / _errors(count, power, tail)) ** 2
    between, within = max(0.0, between_variance), max(0.0, within_variance)
    if between + within <= allowed:
        return 1.0 if difference else None
    return within / (allowed - between) if between < allowed else None


def _errors(count: int, power: float, tail: float) -> float:
    """Standard errors between no difference and one that is shown with this power."""
    if count >= _LIKE_NORMAL:
        return normal_quantile(1 - tail) + normal_quantile(power)
    return t_quantile(1 - tail, count - 1) + t_quantile(power, count - 1)
