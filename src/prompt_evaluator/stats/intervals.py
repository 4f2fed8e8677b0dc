"""How sure are we of a mean?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_RESAMPLES = 2_000
_MOST_RESAMPLED = 2_000
"""Above so many cases resampling and the normal approximation agree, and only one of them takes seconds."""
_NORMAL = 1.959964
# Student's t, two-sided 95 %, for 1 to 30 degrees of freedom.
_T = (
    12.706205, 4.302653, 3.182446, 2.776445, 2.570582, 2.446912, 2.364624, 2.306004, 2.262157, 2.228139,
    2.200985, 2.178813, 2.160369, 2.144787, 2.131450, 2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
    2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831, 2.048407, 2.045230, 2.042272,
)  # fmt: skip


class Interval(NamedTuple):
    """Where the truth lies, 95 times in 100."""

    low: float
    high: float


def mean_interval(
    mean: float, std: float | None, count: int, bounds: tuple[float, float] | None = None
) -> Interval | None:
    """Student's interval of a mean of independent values, cut at the ends of their scale. None of fewer than two."""
    if std is None or count < 2:  # noqa: PLR2004
        return None
    half = _t(count - 1) * std / math.sqrt(count)
    low, high = bounds or (-math.inf, math.inf)
    return Interval(max(low, mean - half), min(high, mean + half))


def resampled_mean(case_means: Sequence[float], *, seed: int) -> Interval | None:
    """Percentile bootstrap of the mean over cases.

    Give it one value per case: samples of the same case are not independent, and counting them one by one would make
    the interval too narrow.
    """
    return resampled_share(case_means, [1.0] * len(case_means), seed=seed)


def resampled_share(parts: Sequence[float], wholes: Sequence[float], *, seed: int) -> Interval | None:
    """Percentile bootstrap of sum(parts) / sum(wholes), a case at a time. None of fewer than two cases."""
    if len(parts) < 2:  # noqa: PLR2004
        return None
    import numpy as np  # noqa: PLC0415 - 0.1 s to import, needed once at the end of a run

    top, bottom = np.asarray(parts, float), np.asarray(wholes, float)
    if len(parts) > _MOST_RESAMPLED:
        share = top.sum() / bottom.sum()
        residuals = top - share * bottom
        half = _NORMAL * math.sqrt(len(parts) * residuals.var(ddof=1)) / bottom.sum()
        return Interval(float(share - half), float(share + half))
    picks = np.random.default_rng(seed).integers(0, len(parts), (_RESAMPLES, len(parts)))
    shares = top[picks].sum(axis=1) / bottom[picks].sum(axis=1)
    low, high = np.percentile(shares, (2.5, 97.5))
    return Interval(float(low), float(high))


def _t(degrees: int) -> float:
    """Student's t, two-sided 95 %; beyond the table by the first terms of its expansion around the normal."""
    if degrees <= len(_T):
        return _T[degrees - 1]
    z = _NORMAL
    return z + (z**3 + z) / (4 * degrees) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * degrees**2)
