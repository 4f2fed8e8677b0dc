"""Stopping one run: what has not been sent is not sent any more, and nobody goes on waiting for it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from prompt_evaluator.errors import StoppedError

Wait = Callable[[asyncio.Future[None]], Awaitable[None]]
"""How to wait for something that somebody else brings about."""


async def plain_wait(future: asyncio.Future[None]) -> None:
    await future


async def sleep(seconds: float, wait: Wait = plain_wait) -> None:
    """Wait for so long, or until whatever `wait` heeds comes before."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    timer = loop.call_later(seconds, resolve, future)
    try:
        await wait(future)
    finally:
        timer.cancel()


class Waiters:
    """Everybody who waits for one thing and has to know when that has become pointless."""

    def __init__(self) -> None:
        self._futures: set[asyncio.Future[None]] = set()

    def end(self, error: Callable[[], Exception]) -> None:
        """Raise an error in each of them."""
        for future in self._futures:
            if not future.done():
                future.set_exception(error())

    async def wait(self, future: asyncio.Future[None], wait: Wait = plain_wait) -> None:
        self._futures.add(future)
        try:
            await wait(future)
        finally:
            self._futures.discard(future)


class Stop:
    """Whether a run is being stopped, and everybody who waits and should know of it."""

    def __init__(self) -> None:
        self.stopped = False
        self._waiters = Waiters()

    def stop(self) -> None:
        """Raise `StoppedError` in everybody who waits, and in everybody who asks from now on."""
        self.stopped = True
        self._waiters.end(_stopped)

    def check(self) -> None:
        if self.stopped:
            raise _stopped()

    async def wait(self, future: asyncio.Future[None]) -> None:
        """Wait for the future, or until the run is stopped, which then becomes the future's exception."""
        if self.stopped and not future.done():
            future.set_exception(_stopped())
        await self._waiters.wait(future)


def resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _stopped() -> StoppedError:
    return StoppedError("The run is being stopped: this call was not sent. Resume the run to make it.")
