"""Which place does each of several means take, given how sure we are of them?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def interval_ranks(intervals: Sequence[tuple[float, float] | None]) -> list[int | None]:
    """Return 1 plus the number of intervals that lie wholly above each one; None where there is no interval.

    Means that their intervals cannot tell apart share a rank, and no rank depends on an order among them. Intervals of
    means over the same cases are wider than a paired comparison needs: two means that share a rank may still differ.
    """
    lows = [interval[0] for interval in intervals if interval is not None]
    return [None if interval is None else 1 + sum(low > interval[1] for low in lows) for interval in intervals]
