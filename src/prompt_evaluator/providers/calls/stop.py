"""Stopping one run: what has not been sent is not sent any more, and nobody goes on waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from prompt_evaluator.errors import StoppedError

Wait = Callable[[asyncio.Future[None]], Awaitable[None]]
"""How to wait for something that somebody else brings about."""


async def plain_wait(future: asyncio.Future[None]) -> None:
    await future


class Stop:
    """Whether a run is being stopped, and everybody who waits and should know of it."""

    def __init__(self) -> None:
        self.stopped = False
        self._waiting: set[asyncio.Future[None]] = set()

    def stop(self) -> None:
        """Raise `StoppedError` in everybody who waits, and in everybody who asks from now on."""
        self.stopped = True
        for future in self._waiting:
            if not future.done():
                future.set_exception(_stopped())

    def check(self) -> None:
        if self.stopped:
            raise _stopped()

    async def wait(self, future: asyncio.Future[None]) -> None:
        """Wait for the future, or until the run is stopped, which then becomes the future's exception."""
        if self.stopped and not future.done():
            future.set_exception(_stopped())
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    async def sleep(self, seconds: float) -> None:
        """Wait for so long, or until the run is stopped."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        timer = loop.call_later(seconds, _resolve, future)
        try:
            await self.wait(future)
        finally:
            timer.cancel()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _stopped() -> StoppedError:
    return StoppedError("The run is being stopped: this call was not sent. Resume the run to make it.")
