"""Numbers that a bound refuses, as a program and as a person would write them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from prompt_evaluator.model.bounds import Bound

HUGE = 10**5_000


def bad_values(bound: Bound) -> dict[str, Any]:
    """By what is wrong with them."""
    return {
        "just below": _below(bound),
        "just above": _above(bound),
        "far below": -1e305,
        "far above": 1e305,
        "a whole number of many digits": 10**2_000,
        "a whole number of many digits below zero": -(10**2_000),
        "true": True,
        "a text": "1_000",
        "a list": [1],
        **({"no whole number": 2.5} if bound.whole else {}),
        **({"zero below zero": -0.0} if not bound.whole and bound.least >= 0 else {}),
    }


def bad_values_of_python(bound: Bound) -> dict[str, Any]:
    """The same, and what no file can say."""
    more = {"not a number": math.nan, "infinite": math.inf, "a whole number that Python cannot write": HUGE}
    return {**bad_values(bound), **more, "an object": object()}


def bad_texts(bound: Bound) -> dict[str, str]:
    """As flags and variables have them."""
    words = ("1_000", "1,000", "nan", "inf", "-inf", "1e400", "true", "0x10", "\u0661", "1 2", "five", "9" * 5_000)
    return {
        **{word[:10]: word for word in words},
        "just below": repr(_below(bound)),
        "just above": repr(_above(bound)),
        **({"no whole number": "2.5", "a power": "1e3"} if bound.whole else {}),
        **({"zero below zero": "-0.0"} if not bound.whole and bound.least >= 0 else {}),
    }


def _below(bound: Bound) -> float:
    return bound.least - 1 if bound.whole else math.nextafter(bound.least, -math.inf)


def _above(bound: Bound) -> float:
    return bound.most + 1 if bound.whole else math.nextafter(bound.most, math.inf)
