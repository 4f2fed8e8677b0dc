"""Sums of numbers in constant memory: exact, so that they are the same in whatever order numbers are added."""

from __future__ import annotations

import math

from prompt_evaluator.stats.spread import Spread

_BITS = 1_074
"""Every finite number is a whole multiple of 2 to the power of -1,074."""


class ExactSum:
    """Adds up numbers, their squares, and how far they reach."""

    __slots__ = ("_squares", "_total", "count", "max", "min")

    def __init__(self) -> None:
        self.count = self._total = self._squares = 0
        self.min, self.max = math.inf, -math.inf

    def add(self, value: float, times: int = 1) -> None:
        """Add a finite number, so many times."""
        numerator, denominator = value.as_integer_ratio()
        whole = numerator << (_BITS + 1 - denominator.bit_length())
        self.count += times
        self._total += whole * times
        self._squares += whole * whole * times
        self.min = min(self.min, value)
        self.max = max(self.max, value)

    @property
    def total(self) -> float:
        """Correctly rounded."""
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
        squares = self.count * self._squares - self._total * self._total
        return math.isqrt(squares // (self.count * (self.count - 1))) / (1 << _BITS)

    def spread(self) -> Spread | None:
        """All of it; None if there are no numbers."""
        return Spread(self.mean, self.std, self.min, self.max, self.count) if self.count else None
