"""Numbers that a bound refuses."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_evaluator.model.bounds import Bound


def bad_values(bound: Bound) -> dict[str, Any]:
    """By what is wrong with them."""
    below = bound.least - 1 if bound.whole else math.nextafter(bound.least, -math.inf)
    above = bound.most + 1 if bound.whole else math.nextafter(bound.most, math.inf)
    return {
        "just below": below,
        "just above": above,
        "far above": 1e305,
        "a whole number of many digits": 10**2_000,
        "true": True,
        "a text": "1_000",
        "a list": [1],
        **({"no whole number": 2.5} if bound.whole else {}),
        **({"zero below zero": -0.0} if not bound.whole and bound.least >= 0 else {}),
    }
