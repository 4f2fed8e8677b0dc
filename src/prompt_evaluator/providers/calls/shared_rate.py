"""A rate that many processes keep together: each takes small blocks of it from the store."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from prompt_evaluator.errors import StoreError
from prompt_evaluator.providers.calls.pace import BURST, Bucket

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.providers.calls.pace import LimitKind
    from prompt_evaluator.providers.calls.shared_key import SharedKey

_LOG = logging.getLogger("prompt_evaluator.limits")
_BLOCK, _LARGEST = 0.05, 0.5
"""Seconds of the rate that are taken at once, so that there are at most 20 blocks a second, whatever the rate; larger
ones if the store takes long to answer, so that the next is there before one is used up."""
_FORGOTTEN = 0.9
"""A slow answer counts less with each later one."""
_SURPLUS = 5
"""How many blocks more than needed a process keeps, if its calls used less than expected."""
_AGAIN = 1.0
"""Seconds before the store is asked again, after it could not be reached."""
_PATIENCE = 10.0
"""Seconds for which calls wait for a store that does not answer. After that, this process keeps the rate alone."""


class SharedBucket:
    """Used as a `Bucket`. What it has was taken from the store, and may be used from a certain time on."""

    def __init__(
        self,
        key: SharedKey,
        kind: LimitKind,
        per_minute: float,
        clock: Callable[[], float],
        changed: Callable[[], None],
    ) -> None:
        """Start with nothing.

        Args:
            key: The key in the store.
            kind: `requests` or `tokens`.
            per_minute: The rate.
            clock: Returns seconds.
            changed: Called when calls that wait may go, or have to wait for another time.
        """
        self._key, self._kind, self._clock, self._changed = key, kind, clock, changed
        self._level = 0.0
        """Below 0 if a call used more than there was; the next block makes up for it."""
        self._from = 0.0
        self._asking = False
        self._unanswered: float | None = None
        """Since when the store has not answered."""
        self._ask_at = 0.0
        self._slowest = 0.0
        """Seconds that the store took to answer lately."""
        self._alone: Bucket | None = None
        self.set_rate(per_minute)

    def set_rate(self, per_minute: float) -> None:
        self.per_second = per_minute / 60
        self._set_block()
        if self._alone is not None:
            self._alone.set_rate(per_minute)

    def wait(self, now: float) -> float:
        """Return the seconds until the next `take` is allowed; 0 if it is allowed now."""
        if self._level >= 1.0 and self._alone is None:
            return max(0.0, self._from - now)
        if not self._asking and now >= self._ask_at:
            self._ask(now)
        if self._alone is None and self._unanswered is not None and now - self._unanswered > _PATIENCE:
            _LOG.warning("The store does not answer, so this process keeps its rate limits alone until it does.")
            self._alone = Bucket(self.per_second * 60, 0.1)
        return _AGAIN if self._alone is None else self._alone.wait(now)

    def take(self, amount: float) -> None:
        if self._alone is not None:
            self._alone.take(amount)
            return
        self._level -= amount
        if amount >= 0:
            return
        self._from += amount / self.per_second  # its time was reserved for a call that did not need it
        if (surplus := self._level - self._block) > _SURPLUS * self._block:
            self._level -= surplus
            self._key.give_back(self._kind, surplus / self.per_second)

    def _set_block(self) -> None:
        span = min(_LARGEST, max(_BLOCK, 2 * self._slowest))
        self._block = max(1.0, self.per_second * span // 1)

    def _ask(self, now: float) -> None:
        self._asking = True
        if self._unanswered is None:
            self._unanswered = now
        debt = max(0.0, -self._level)
        amount, rate = self._block + debt, self.per_second

        def answered(begins_in: float | StoreError) -> None:
            self._asking = False
            self._slowest = max(self._clock() - now, self._slowest * _FORGOTTEN)
            self._set_block()
            if isinstance(begins_in, StoreError):
                self._ask_at = self._clock() + _AGAIN
            else:
                self._unanswered = self._alone = None
                self._level += amount
                self._from = self._clock() + begins_in + debt / rate
            self._changed()

        self._key.reserve(self._kind, amount / rate, BURST[self._kind], answered)
