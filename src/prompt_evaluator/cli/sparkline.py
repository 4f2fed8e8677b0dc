"""A series of numbers as a row of small bars."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_BARS = "▁▂▃▄▅▆▇█"
_CUT = "│"


def sparkline(values: Sequence[float], width: int, *, cuts: Collection[int] = (), least: float = 0.0) -> str:
    """Draw the values in at most `width` columns; where there are more, a bar is the mean of some neighbours.

    Args:
        values: At least one.
        width: In columns.
        cuts: Indices before which to draw a line.
        least: Smallest range that fills the height, so that noise does not look like a mountain range.
    """
    bars = max(1, min(len(values), width - len(cuts)))
    edges = [at * len(values) // bars for at in range(bars + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in pairwise(edges)]
    low, high = min(values), max(values)
    if high - low < least:
        middle = (low + high) / 2
        low, high = middle - least / 2, middle + least / 2
    texts = []
    for at, mean in enumerate(means):
        level = int((mean - low) / (high - low) * len(_BARS)) if high > low else len(_BARS) // 2
        cut = any(edges[at] <= each < edges[at + 1] for each in cuts)
        texts.append((_CUT if cut else "") + _BARS[max(0, min(len(_BARS) - 1, level))])
    return "".join(texts)
