"""Where does the level of a series change?

Each value comes with its own standard error, so that a few values are enough: the series does not have to show first
how much it varies. Finds one change after the other by cutting the series in two (binary segmentation), then drops the
weakest until all that remain are significant, as Hunter does (Fleming et al. 2023).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.stats.scan import scan_p_value, tail

if TYPE_CHECKING:
    from collections.abc import Sequence

_LEVEL = 0.05
_MOST_BLIPS = 4
"""At most one value in this many is set aside."""


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """A place where the level of a series changes."""

    index: int
    """The first value of the new level."""
    before: float
    after: float
    """Weighted means of the values since the change before, and up to the next one."""
    error: float
    """Standard error of their difference."""
    z: float
    p: float
    """The chance of a jump at least as clear, anywhere between the two neighbouring changes, if there were none."""


class Changes(NamedTuple):
    """What a series shows."""

    points: tuple[ChangePoint, ...]
    blips: tuple[int, ...]
    """Values far off, after which the series goes on as before. They are set aside."""


def find_changes(
    means: Sequence[float],
    errors: Sequence[float],
    *,
    level: float = _LEVEL,
    smallest: float = 0.0,
    freedom: float | None = None,
) -> Changes:
    """Return the changes of a series, and single values that are far off.

    Args:
        means: In order of time.
        errors: Their standard errors, all above 0. If the same things are measured each time, such as the same cases,
            this is the error of measuring them again, not that of choosing others.
        level: How often a series without a change may show one.
        smallest: Changes smaller than this are dropped.
        freedom: Degrees of freedom of the errors, if they were estimated together; None if they are known well.
    """
    if len(means) != len(errors) or not all(error > 0 and math.isfinite(error) for error in errors):
        raise ValueError("each value needs a standard error above 0")
    kept: list[int] = list(range(len(means)))
    blips: list[int] = []
    while True:
        series = _Series([means[at] for at in kept], [errors[at] for at in kept], freedom)
        cuts = _settled(series, _cuts(series, 0, len(kept), level), level, smallest)
        blip = _blip(series, cuts, level) if _MOST_BLIPS * (len(blips) + 1) <= len(means) else None
        if blip is None:
            break
        blips.append(kept.pop(blip))
    points = [replace(series.point(*window), index=kept[window[1]]) for window in _windows(series, cuts)]
    return Changes(tuple(points), tuple(sorted(blips)))


class _Series:
    """Values with weights, whose sums over any stretch are at hand."""

    def __init__(self, means: Sequence[float], errors: Sequence[float], freedom: float | None) -> None:
        self.means, self.freedom = means, freedom
        self.weights = [1 / error**2 for error in errors]
        origin = means[0] if means else 0.0
        self._origin = origin
        self._weight = [0.0, *accumulate(self.weights)]
        self._sum = [
            0.0,
            *accumulate(weight * (each - origin) for weight, each in zip(self.weights, means, strict=True)),
        ]

    def __len__(self) -> int:
        return len(self.means)

    def weight(self, low: int, high: int) -> float:
        return self._weight[high] - self._weight[low]

    def mean(self, low: int, high: int) -> float:
        return self._origin + (self._sum[high] - self._sum[low]) / self.weight(low, high)

    def z(self, low: int, cut: int, high: int) -> float:
        error = math.sqrt(1 / self.weight(low, cut) + 1 / self.weight(cut, high))
        return (self.mean(cut, high) - self.mean(low, cut)) / error

    def best(self, low: int, high: int) -> int:
        return max(range(low + 1, high), key=lambda cut: abs(self.z(low, cut, high)))

    def p(self, low: int, cut: int, high: int) -> float:
        return scan_p_value(self.weights[low:high], abs(self.z(low, cut, high)), self.freedom)

    def point(self, low: int, cut: int, high: int) -> ChangePoint:
        error = math.sqrt(1 / self.weight(low, cut) + 1 / self.weight(cut, high))
        before, after = self.mean(low, cut), self.mean(cut, high)
        return ChangePoint(cut, before, after, error, self.z(low, cut, high), self.p(low, cut, high))


def _cuts(series: _Series, low: int, high: int, level: float) -> list[int]:
    if high - low < 2:  # noqa: PLR2004
        return []
    cut = series.best(low, high)
    # One place alone is at most as surprising as the best of several: most series need no integral.
    if tail(series.z(low, cut, high), series.freedom) >= level or series.p(low, cut, high) >= level:
        return []
    # Both parts together show another change no more often than the whole shows one.
    return [*_cuts(series, low, cut, level / 2), cut, *_cuts(series, cut, high, level / 2)]


def _settled(series: _Series, cuts: list[int], level: float, smallest: float) -> list[int]:
    """Move each cut to the best place between its neighbours, and drop the weakest until all hold."""
    while cuts:
        for at, (low, _, high) in enumerate(_windows(series, cuts)):
            # A cut that moved is a neighbour of the next.
            cuts[at] = series.best(cuts[at - 1] if at else low, high)
        points = [series.point(*window) for window in _windows(series, cuts)]
        small = [point for point in points if abs(point.after - point.before) < smallest]
        weak = small or [point for point in points if point.p >= level]
        if not weak:
            break
        cuts.remove(max(weak, key=lambda point: (point.p, -abs(point.z))).index)
    return cuts


def _windows(series: _Series, cuts: Sequence[int]) -> list[tuple[int, int, int]]:
    """Each cut with the cuts before and after it."""
    edges = [0, *cuts, len(series)]
    return list(zip(edges, edges[1:], edges[2:], strict=False))


def _blip(series: _Series, cuts: Sequence[int], level: float) -> int | None:
    """The value that is furthest off while those before and after it agree."""
    edges = [0, *cuts, len(series)]
    off = {}
    for low, high in pairwise(edges):
        if high - low == 1 and low > 0 and high < len(series):
            before, after = (edges[edges.index(low) - 1], low), (high, edges[edges.index(high) + 1])
            if (series.mean(*before) < series.means[low]) == (series.mean(*after) < series.means[low]):
                off[low] = min(abs(_off(series, low, [before])), abs(_off(series, low, [after])))
        for at in range(low + 1, high - 1):
            z = _off(series, at, [(low, at), (at + 1, high)])
            if tail(z, series.freedom) * (len(series) - 2) < level:
                off[at] = abs(z)
    return max(off, key=lambda at: off[at]) if off else None


def _off(series: _Series, at: int, others: Sequence[tuple[int, int]]) -> float:
    """How far a value is from the mean of others, in standard errors."""
    weight = math.fsum(series.weight(*stretch) for stretch in others)
    mean = math.fsum(series.weight(*stretch) * series.mean(*stretch) for stretch in others) / weight
    return (series.means[at] - mean) / math.sqrt(1 / series.weights[at] + 1 / weight)
