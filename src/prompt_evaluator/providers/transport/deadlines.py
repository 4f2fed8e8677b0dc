"""One timer for all requests in flight. With a timer for each, setting and cancelling them took 4 % of a busy run."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_evaluator.providers.transport.connection import Connection


class Deadlines:
    """Tells connections when their replies are late."""

    def __init__(self) -> None:
        self._due: dict[Connection, float] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._wakes_at = math.inf
        """Never later than the earliest deadline. It may be earlier: replies usually arrive before their deadline."""

    def watch(self, connection: Connection, seconds: float) -> None:
        self._due[connection] = due = time.monotonic() + seconds  # the clock of event loops
        if due < self._wakes_at:
            self._wake_at(due, asyncio.get_running_loop())

    def forget(self, connection: Connection) -> None:
        del self._due[connection]

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._wakes_at = None, math.inf

    def _wake_at(self, due: float, loop: asyncio.AbstractEventLoop) -> None:
        self.close()
        self._timer, self._wakes_at = loop.call_at(due, self._check, loop), due

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        now = max(loop.time(), self._wakes_at)  # the loop's clock is coarse: it may wake a little early
        late = [connection for connection, due in self._due.items() if due <= now]
        self.close()
        for connection in late:
            connection.time_out()
        left = [due for due in self._due.values() if due > now]
        if left:
            self._wake_at(min(left), loop)
