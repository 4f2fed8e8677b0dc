"""Corrections for testing many things at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def benjamini_hochberg(p_values: Sequence[float], level: float = 0.10) -> float | None:
    """Return the largest p value that is still significant, or None if none is.

    Of what is called significant, at most this share is expected to be so by chance.
    """
    ordered, cut = sorted(p_values), None
    for rank, p_value in enumerate(ordered, start=1):
        if p_value <= level * rank / len(ordered):
            cut = p_value
    return cut


def holm(p_values: Sequence[float]) -> list[float]:
    """Return adjusted p values in the same order.

    If those below a level are called significant, the probability that any of them is so by chance is at most that
    level, however the tests depend on each other.
    """
    adjusted, reached = [0.0] * len(p_values), 0.0
    for done, at in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        reached = min(1.0, max(reached, p_values[at] * (len(p_values) - done)))
        adjusted[at] = reached
    return adjusted
