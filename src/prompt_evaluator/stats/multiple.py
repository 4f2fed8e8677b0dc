"""Corrections for testing many things at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt


def benjamini_hochberg(p_values: Sequence[float] | npt.NDArray[np.float64], level: float = 0.10) -> float | None:
    """Return the largest p value that is still significant, or None if none is.

    Of what is called significant, at most this share is expected to be so by chance.
    """
    import numpy as np  # noqa: PLC0415 - takes a tenth of a second

    ordered = np.sort(np.asarray(p_values, dtype=np.float64))
    limits = level * np.arange(1, len(ordered) + 1) / len(ordered) if len(ordered) else ordered
    significant = ordered[ordered <= limits]
    return float(significant[-1]) if len(significant) else None


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
