"""The calls of one run at one governor."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import asyncio

    from prompt_evaluator.providers.calls.governor import Governor


class Waiting(NamedTuple):
    """A call that waits for its turn."""

    number: int
    """Increases in order of arrival."""
    future: asyncio.Future[None]
    tokens: float


class Lane:
    """One run's calls at one governor: those in flight, their cap, and those waiting."""

    def __init__(self, governor: Governor, cap: int) -> None:
        self._governor = governor
        self.cap = cap
        self.in_flight = 0
        self.urgent: deque[Waiting] = deque()
        self.others: deque[Waiting] = deque()

    @property
    def limit(self) -> float:
        """How many calls the run may currently have in flight."""
        return min(self.cap, self._governor.limit)
