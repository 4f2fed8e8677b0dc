"""Collects the rows of finished cases until there are enough to write at once."""

from __future__ import annotations

import threading
from time import perf_counter
from typing import TYPE_CHECKING

from prompt_evaluator.store.result_rows import ResultRows

if TYPE_CHECKING:
    from prompt_evaluator.store.result_rows import FinishedCase

_ENOUGH, _HOLD = 512, 0.5
"""Cases are held back until together they have this many samples, or for this many seconds: writing 128 cases at once
takes half the time per case of writing five."""


class CaseBatch:
    """Rows of different cases."""

    __slots__ = ("rows", "since", "weight")

    def __init__(self) -> None:
        self.rows = ResultRows()
        self.weight = 0
        """Samples of the cases, at least one each."""
        self.since = 0.0
        """When the first case was put."""


class CaseBatches:
    """One thread puts cases, another one takes batches of them."""

    def __init__(self, *, hold: float = _HOLD) -> None:
        """Hold cases back for at most that many seconds."""
        self._hold = hold
        self._lock = threading.Lock()
        self._full: list[CaseBatch] = []
        self._open = CaseBatch()

    def put(self, run_id: str, case: FinishedCase) -> bool:
        """Make the rows of a case. Return whether it begins or fills a batch, so that a thread that waits should look.

        They are made here: next to a busy event loop, computing them in the other thread costs more.
        """
        with self._lock:
            if case.position in self._open.rows.positions:
                self._close()
            batch = self._open
            batch.rows.add(run_id, case)
            begins = not batch.weight
            if begins:
                batch.since = perf_counter()
            batch.weight += case.weight
            cases = len(batch.rows.positions)
            # A power of two, so that statements are few and of few sizes.
            fills = batch.weight >= _ENOUGH and not cases & (cases - 1)
            if fills:
                self._close()
            return begins or fills

    def take(self, *, everything: bool) -> list[CaseBatch]:
        """Return what is due, in the order in which it was put."""
        with self._lock:
            if everything or self.seconds_left() == 0:
                self._close()
            taken, self._full = self._full, []
            return taken

    def seconds_left(self) -> float | None:
        """Until a batch that is not full yet is due; None if there is none."""
        batch = self._open
        return max(0.0, batch.since + self._hold - perf_counter()) if batch.weight else None

    @property
    def is_empty(self) -> bool:
        return not self._full and not self._open.weight

    def _close(self) -> None:
        if self._open.weight:
            self._full.append(self._open)
            self._open = CaseBatch()
