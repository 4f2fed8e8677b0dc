"""Whether a service was ever reached: one that never was has the wrong address or is not running."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prompt_evaluator.providers.calls.stop import resolve

if TYPE_CHECKING:
    from prompt_evaluator.providers.calls.stop import Wait

PATIENCE = 3.0
"""Seconds that a service which was never reached is given: enough for a local server to start again."""


class Reach:
    """What is known of one endpoint, whoever asked it for whatever."""

    def __init__(self) -> None:
        self.ever = False
        """Whether a connection was ever made."""
        self.in_doubt = False
        """Whether connections have failed, and none was ever made. Then those that failed are tried again, and other
        calls wait for what comes of it: a hundred calls to a wrong address need not knock a hundred times."""
        self._waiting: set[asyncio.Future[None]] = set()

    def missed(self) -> None:
        """A connection could not be made."""
        self.in_doubt = not self.ever

    def reached(self) -> None:
        self.ever, self.in_doubt = True, False
        for future in self._waiting:
            resolve(future)

    async def wait(self, wait: Wait) -> None:
        """Wait until the service is reached, but no longer than it is given."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(PATIENCE, resolve, future)
        self._waiting.add(future)
        try:
            await wait(future)
        finally:
            timer.cancel()
            self._waiting.discard(future)
