"""Sums of numbers in constant memory: exact, so that they are the same in whatever order numbers are added."""

from __future__ import annotations

import math

from prompt_evaluator.stats.spread import Spread

_BITS = 1_074
"""Every finite number is a whole multiple of 2 to the power of -1,074."""
_MOST_ADDED = 256


class ExactSum:
    """Adds up numbers, their squares, and how far they reach."""

    __slots__ = ("_added", "_max", "_min", "_squares", "_total", "count")

    def __init__(self) -> None:
        self.count = self._total = self._squares = 0
        self._min, self._max = math.inf, -math.inf
        self._added: dict[float, int] = {}
        """Numbers that are not in the sums yet, with how often each was added: most scores have few values."""

    def add(self, value: float, times: int = 1) -> None:
        """Add a finite number, so many times."""
        added = self._added
        self.count += times
        added[value] = added.get(value, 0) + times
        if len(added) > _MOST_ADDED:
            self._sum_up()

    def _sum_up(self) -> None:
        for value, times in self._added.items():
            numerator, denominator = value.as_integer_ratio()
            whole = numerator << (_BITS + 1 - denominator.bit_length())
            self._total += whole * times
            self._squares += whole * whole * times
        self._min, self._max = min((self._min, *self._added)), max((self._max, *self._added))
        self._added.clear()

    @property
    def min(self) -> float:
        self._sum_up()
        return self._min

    @property
    def max(self) -> float:
        self._sum_up()
        return self._max

    @property
    def total(self) -> float:
        """Correctly rounded."""
        self._sum_up()
        return self._total / (1 << _BITS)

    @property
    def mean(self) -> float:
        """Of at least one number. Equal numbers have exactly that mean."""
        return self.total / self.count if self.min < self.max else self.min

    @property
    def std(self) -> float | None:
        """Sample standard deviation (n - 1); None below two numbers."""
        if self.count < 2:  # noqa: PLR2004
            return None
        self._sum_up()
        squares = self.count * self._squares - self._total * self._total
        return math.isqrt(squares // (self.count * (self.count - 1))) / (1 << _BITS)

    def spread(self) -> Spread | None:
        """All of it; None if there are no numbers."""
        return Spread(self.mean, self.std, self.min, self.max, self.count) if self.count else None
