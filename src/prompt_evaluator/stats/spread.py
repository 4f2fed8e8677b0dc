"""How much scores vary."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Spread:
    """Summary statistics of some values."""

    mean: float
    std: float | None
    """Sample standard deviation (n - 1). None for a single value, which says nothing about spread."""
    min: float
    max: float
    count: int


def spread(values: Sequence[float]) -> Spread | None:
    """Summarise values; None if there are none, because nothing measured is not 0."""
    if not values:
        return None
    low, high = min(values), max(values)
    # Equal values have exactly that mean and no spread; a sum could be off by a rounding error.
    mean = math.fsum(values) / len(values) if low < high else low
    std = None
    if len(values) > 1:
        squares = math.fsum((value - mean) ** 2 for value in values) if low < high else 0.0
        std = math.sqrt(squares / (len(values) - 1))
    return Spread(mean, std, low, high, len(values))
