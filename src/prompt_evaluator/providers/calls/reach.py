"""Whether a service was ever reached. If not, its address is wrong or it is not running."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prompt_evaluator.providers.calls.stop import resolve

if TYPE_CHECKING:
    from prompt_evaluator.providers.calls.stop import Wait

PATIENCE = 3.0
"""Seconds to wait for a service that was never reached: enough for a local server to restart."""


class Reach:
    """Whether the service of one entry can be reached, across all models and kinds of calls."""

    def __init__(self) -> None:
        self.ever = False
        """Whether a connection was ever made."""
        self.in_doubt = False
        """Whether connections have failed and none was ever made. Calls that failed are then retried while the others
        wait for the outcome: a hundred calls to a wrong address need not try a hundred times."""
        self._waiting: set[asyncio.Future[None]] = set()

    def missed(self) -> None:
        """Note that a connection could not be made."""
        self.in_doubt = not self.ever

    def reached(self) -> None:
        self.ever, self.in_doubt = True, False
        for future in self._waiting:
            resolve(future)

    async def wait(self, wait: Wait) -> None:
        """Wait until the service is reached, for at most `PATIENCE` seconds."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(PATIENCE, resolve, future)
        self._waiting.add(future)
        try:
            await wait(future)
        finally:
            timer.cancel()
            self._waiting.discard(future)
