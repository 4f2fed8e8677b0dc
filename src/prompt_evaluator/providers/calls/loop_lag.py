"""Measures how late the event loop runs: a saturated client must not mistake that for the service's latency."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TICK = 0.05
_QUIET = 20
"""Measuring ends after this many ticks, a second, without a call of `seconds`."""


class LoopLag:
    """How late the event loop runs scheduled callbacks."""

    def __init__(self, each_second: Callable[[], None] = lambda: None) -> None:
        """Prepare; nothing is measured yet.

        Args:
            each_second: Called about once a second while the lag is measured, which is while calls are answered.
        """
        self._each_second, self._ticks = each_second, 0
        self._lag = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._quiet = 0
        """Ticks since the last call of `seconds`."""

    def seconds(self) -> float:
        """Return the smoothed lag. Measuring continues only while this is called regularly."""
        self._quiet = 0
        if self._timer is None:
            self._schedule()
        return self._lag

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_TICK, self._tick, loop.time() + _TICK)

    def _tick(self, due: float) -> None:
        self._timer = None
        late = max(0.0, asyncio.get_running_loop().time() - due)
        self._lag += 0.3 * (late - self._lag)
        self._quiet += 1
        self._ticks += 1
        if self._ticks % _QUIET == 0:
            self._each_second()
        if self._quiet < _QUIET:
            self._schedule()
