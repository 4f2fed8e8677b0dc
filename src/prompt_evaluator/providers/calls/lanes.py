"""The calls of several runs at one governor: which run's turn it is."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence


class WaitingCall(NamedTuple):
    """A call that may not go yet."""

    future: asyncio.Future[None]
    tokens: float


class Lane:
    """One run's calls at one governor: those in flight, their cap, and those waiting."""

    def __init__(self, cap: int, limit: Callable[[], float]) -> None:
        """Start empty.

        Args:
            cap: The most calls of the run in flight.
            limit: Returns how many calls of all runs may be in flight.
        """
        self.cap, self._limit = cap, limit
        self.in_flight = self.turn = 0
        """`turn` says when a waiting call last got its turn, counted in turns of the governor."""
        self.urgent: deque[WaitingCall] = deque()
        self.others: deque[WaitingCall] = deque()

    @property
    def limit(self) -> float:
        """How many calls the run may currently have in flight."""
        return min(self.cap, self._limit())


def next_lane(lanes: Sequence[Lane]) -> Lane | None:
    """Return the lane whose turn it is: of those with a call that may go, the one that waited longest for a turn.

    Not that of the oldest call: a run that makes many calls at once would go before all others.
    """
    best = None
    for lane in lanes:
        may_go = lane.in_flight < lane.cap and (lane.urgent or lane.others)
        if may_go and (best is None or lane.turn < best.turn):
            best = lane
    return best
