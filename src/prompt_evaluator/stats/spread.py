"""How much do scores vary?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Spread:
    """The usual five numbers."""

    mean: float
    std: float | None
    """Of the sample (n - 1). None of a single value: one value says nothing about spread."""
    min: float
    max: float
    count: int


def spread(values: Sequence[float]) -> Spread | None:
    """None of no values at all: nothing measured is not 0."""
    if not values:
        return None
    low, high = min(values), max(values)
    # A sum may be rounded: what is the same each time has that for its mean, and no spread.
    mean = math.fsum(values) / len(values) if low < high else low
    std = None
    if len(values) > 1:
        std = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
    return Spread(mean, std, low, high, len(values))
