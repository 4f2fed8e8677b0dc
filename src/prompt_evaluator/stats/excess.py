"""Do values differ more than their standard errors explain?"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class Excess(NamedTuple):
    """Variance between values beyond their standard errors."""

    variance: float
    p: float
    """The chance of values that differ as much, if their errors were all."""


def excess_within(means: Sequence[float], errors: Sequence[float], cuts: Sequence[int]) -> Excess:
    """Return the variance within the segments between cuts beyond the errors (DerSimonian and Laird 1986)."""
    spread = spare = shrinkage = 0.0
    for low, high in pairwise([0, *cuts, len(means)]):
        weights = [1 / error**2 for error in errors[low:high]]
        total = math.fsum(weights)
        weighted = list(zip(weights, means[low:high], strict=True))
        mean = math.fsum(weight * each for weight, each in weighted) / total
        spread += math.fsum(weight * (each - mean) ** 2 for weight, each in weighted)
        spare += high - low - 1
        shrinkage += total - math.fsum(weight**2 for weight in weights) / total
    if not spare:
        return Excess(0.0, 1.0)
    return Excess(max(0.0, (spread - spare) / shrinkage), chi_square_tail(spread, spare))


def excess_of_repeats(pairs: Sequence[tuple[float, float]]) -> Excess:
    """Return the variance between repeats of one thing beyond the errors.

    Leaves out the pair that differs most: a single change between two repeats is a change, not variance.

    Args:
        pairs: The difference of two neighbouring repeats, and the variance that their errors explain.
    """
    kept = sorted(pairs, key=lambda pair: pair[0] ** 2 / pair[1])[:-1]
    if not kept:
        return Excess(0.0, 1.0)

    def ratio(variance: float) -> float:
        return math.fsum(difference**2 / (known + 2 * variance) for difference, known in kept)

    low, high = 0.0, max(difference**2 for difference, _ in kept)
    while ratio(low) > len(kept) and high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if ratio(middle) > len(kept) else (low, middle)
    return Excess(low, chi_square_tail(ratio(0.0), len(kept)))


def chi_square_tail(value: float, freedom: float) -> float:
    """Return the chance of at least this value, by the approximation of Wilson and Hilferty (1931)."""
    if value <= 0:
        return 1.0
    spread = 2 / (9 * freedom)
    return math.erfc(((value / freedom) ** (1 / 3) - (1 - spread)) / math.sqrt(2 * spread)) / 2
