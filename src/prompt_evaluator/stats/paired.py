"""The difference between two runs over the cases that both have measured."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from prompt_evaluator.stats.distributions import normal_quantile, t_quantile, t_two_sided
from prompt_evaluator.stats.exact import mcnemar, sign_test
from prompt_evaluator.stats.intervals import FEWEST_CASES, Interval

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

PairedMethod = Literal["paired_t", "exact_paired", "exact_bound"]
_TAIL = 0.025
"""Probability that a bound is on the wrong side of the truth: one in twenty for both bounds of an interval."""
_ROUNDING = 1e-12
"""Differences closer than this share of the scale are equal."""
_ALIKE = 1 / 400
"""Differences within this share of the scale have too little spread to be judged by it: 0.01 on a scale from 1 to 5."""


@dataclass(frozen=True, slots=True)
class Paired:
    """A mean difference over cases, how certain it is, and how that was found out."""

    mean: float | None
    """None if there are no cases."""
    std: float | None
    """Of the cases' differences (n - 1); None below two cases."""
    count: int
    low: float | None = None
    high: float | None = None
    """Interval of the mean, 95 % unless asked otherwise; None below five cases, as all that follows."""
    p_value: float | None = None
    """Two-sided."""
    method: PairedMethod | None = None
    effect_size: float | None = None
    """The mean in standard deviations; None without spread."""


class Running:
    """Sums up differences one at a time, in constant memory and without cancellation (Welford 1962)."""

    __slots__ = ("_cubes", "_squares", "count", "losses", "max", "mean", "min", "wins")

    def __init__(self) -> None:
        self.count = self.wins = self.losses = 0
        self.mean = self._squares = self._cubes = 0.0
        self.min, self.max = math.inf, -math.inf

    def add(self, value: float) -> None:
        self.count += 1
        step = value - self.mean
        part = step / self.count
        self.mean += part
        # Terriberry's extension to the third moment, with the second as it was before.
        self._cubes += part * (step * part * (self.count - 1) * (self.count - 2) - 3 * self._squares)
        self._squares += step * (value - self.mean)
        if value > 0:
            self.wins += 1
        elif value < 0:
            self.losses += 1
        self.min = min(self.min, value)
        self.max = max(self.max, value)

    def extend(self, values: npt.NDArray[np.float64]) -> None:
        """Add many values at once (Chan, Golub and LeVeque 1979; Terriberry's extension)."""
        if not len(values):
            return
        low, high = float(values.min()), float(values.max())
        mean, squares, cubes = low, 0.0, 0.0
        if low < high:  # a mean of equal values could be off by a rounding error
            mean = float(values.mean())
            squared = (distances := values - mean) * distances
            squares, cubes = float(squared.sum()), float((squared * distances).sum())
        before, added = self.count, len(values)
        self.count += added
        step, part = mean - self.mean, added / self.count
        self._cubes += cubes + step**3 * before * part * (before - added) / self.count
        self._cubes += 3 * step * (before * squares - added * self._squares) / self.count
        self._squares += squares + step * step * before * part
        self.mean += step * part
        self.wins += int((values > 0).sum())
        self.losses += int((values < 0).sum())
        self.min, self.max = min(self.min, low), max(self.max, high)

    @property
    def std(self) -> float | None:
        """Sample standard deviation (n - 1); None below two values."""
        return math.sqrt(self._squares / (self.count - 1)) if self.count > 1 else None

    @property
    def skewness(self) -> float:
        """Third standardised moment (n); 0 without spread."""
        if not self._squares > 0:
            return 0.0
        return math.sqrt(self.count) * self._cubes / (self._squares * math.sqrt(self._squares))

    def only_ends(self, span: float) -> bool:
        """Whether all values are -span, 0 or span: no others in this range have so large a sum of squares."""
        largest = (self.wins + self.losses) * span * span
        squares = self._squares + self.count * self.mean * self.mean
        return -span <= self.min and self.max <= span and abs(squares - largest) <= _ROUNDING * self.count * span * span


def paired_difference(
    differences: Sequence[float], *, span: float, binary_pairs: bool = False, tail: float = _TAIL
) -> Paired:
    """Test whether cases differ between two runs. Pass one difference per case: candidate minus baseline.

    `span` is the width of the scale, so that a difference lies between -span and span. `binary_pairs` says that each
    difference is between one pass or fail and another; it is ignored if any is not -span, 0 or span. `tail` is the
    probability that either bound of the interval is on the wrong side of the truth.

    - `paired_t`, normally: Student's paired t, cut off where the scale ends. If only few cases change, all in the same
      direction, its interval is too narrow: it covers 89 % if one case in ten of 50 drops.
    - `exact_paired`, for binary pairs: McNemar's exact p value and Tango's interval (see `tango`).
    - `exact_bound`, if all differences are equal or nearly so, so that Student's interval would have next to no width
      (see `_bound`): five cases that happen to be alike do not show that the next one is.

    In each, p < 2 × tail if and only if the interval excludes 0.
    """
    running = Running()
    for difference in differences:
        running.add(difference)
    return paired_from_running(running, span=span, binary_pairs=binary_pairs, tail=tail)


def paired_from_running(running: Running, *, span: float, binary_pairs: bool = False, tail: float = _TAIL) -> Paired:
    """As `paired_difference`, of differences that were summed up."""
    if not span > 0:
        raise ValueError(f"a scale of width {span:g} has no differences")
    count, mean, std = running.count, running.mean, running.std
    if not count:
        return Paired(None, None, 0)
    flat = running.max - running.min <= (_ALIKE + _ROUNDING) * span
    if running.max - running.min <= _ROUNDING * span:  # what is left is rounding
        mean = 0.0 if abs(running.max) <= _ROUNDING * span else running.max
        std = 0.0 if count > 1 else None
    if count < FEWEST_CASES or std is None:
        return Paired(mean, std, count)
    effect_size = mean / std if std else None
    if binary_pairs and running.only_ends(span):
        low, high = (span * share for share in tango(running.wins, running.losses, count, tail=tail))
        return Paired(mean, std, count, low, high, mcnemar(running.wins, running.losses), "exact_paired", effect_size)
    if flat and (bound := _bound(running, mean, span, tail)):
        return Paired(mean, 0.0, count, bound.low, bound.high, bound.p_value, "exact_bound")
    error = std / math.sqrt(count)
    half, p_value = t_quantile(1 - tail, count - 1) * error, t_two_sided(mean / error, count - 1)
    return Paired(mean, std, count, max(-span, mean - half), min(span, mean + half), p_value, "paired_t", effect_size)


class _Bound(NamedTuple):
    low: float
    high: float
    p_value: float


def _bound(running: Running, value: float, span: float, tail: float) -> _Bound | None:
    """Interval and p value of the mean `value` if all cases have about the same difference.

    If a share q of all cases has this difference, the probability that all of these have it is q to the power of their
    number, so q is at least `tail` to the power of 1/count. The others may differ by anything on the scale. The p value
    is the sign test's. Where that is significant, the interval ends before 0: there, the others are taken to differ by
    as much in the other direction, which is what the sign test rules out at the same number of cases. None for so many
    cases on both sides of 0 that this would be narrower than the spread it leaves out.
    """
    count = running.count
    share = tail ** (1 / count)
    if max(running.wins, running.losses) < count or not value:  # not all in one direction: as good as 0
        half = span * (1 - share)
        return _Bound(value - half, value + half, 1.0) if abs(value) < half else None
    p_value = sign_test(0, count)
    towards = abs(value) if p_value < 2 * tail else span
    size = abs(value)
    near, far = size * share - towards * (1 - share), size * share + span * (1 - share)
    return _Bound(near, far, p_value) if value > 0 else _Bound(-far, -near, p_value)


def tango(wins: int, losses: int, count: int, *, tail: float = _TAIL) -> Interval:
    """Interval of the difference between two proportions of the same cases, (wins - losses) / count; 95 % by default.

    Tango's score interval (1998), extended to 0 where McNemar's exact test finds no difference, so that the two agree.
    Never without width: 0 wins and 0 losses of 5 give -0.43 to 0.43. Enumerating all outcomes of 5 to 100 cases over a
    grid of true shares, it covers the truth with a probability of 0.953 to 0.977 on average, and of 0.912 at worst
    (6 cases, all of which differ).
    """
    square = normal_quantile(1 - tail) ** 2
    low, high = -_upper(losses, wins, count, square), _upper(wins, losses, count, square)
    if mcnemar(wins, losses) >= 2 * tail:
        low, high = min(low, 0.0), max(high, 0.0)
    return Interval(low, high)


def _upper(wins: int, losses: int, count: int, square: float) -> float:
    """The largest difference of proportions that the score test does not reject."""
    if wins == count:
        return 1.0
    return _bisect(lambda difference: _score(difference, wins, losses, count) <= square, (wins - losses) / count, 1.0)


def _score(difference: float, wins: int, losses: int, count: int) -> float:
    """Square of the score statistic, with the share of losses that is most likely given the difference."""
    a, c = 2 * count, -losses * difference * (1 - difference)
    b = (2 * count - wins + losses) * difference - wins - losses
    lost = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
    variance = count * (2 * lost + difference * (1 - difference))
    distance = wins - losses - count * difference
    return distance * distance / variance if variance > 0 else math.inf if distance else 0.0


def _bisect(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """The end of what holds."""
    while inside < (middle := (inside + outside) / 2) < outside:
        if holds(middle):
            inside = middle
        else:
            outside = middle
    return inside
