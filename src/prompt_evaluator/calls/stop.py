"""Stops one run: calls that were not sent yet are not sent, and stop waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from prompt_evaluator.errors import StoppedError

Wait = Callable[[asyncio.Future[None]], Awaitable[None]]
"""Waits for a future, and may end early by failing it."""


async def plain_wait(future: asyncio.Future[None]) -> None:
    await future


async def sleep(seconds: float, wait: Wait = plain_wait) -> None:
    """Sleep for this many seconds, unless `wait` ends it earlier."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()
    timer = loop.call_later(seconds, resolve, future)
    try:
        await wait(future)
    finally:
        timer.cancel()


class Waiters:
    """Futures being waited for, which can all be failed at once."""

    def __init__(self) -> None:
        self._futures: set[asyncio.Future[None]] = set()

    def end(self, error: Callable[[], Exception]) -> None:
        """Fail each pending future with an error."""
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
    """Whether a run is being stopped, and the waits that this ends."""

    def __init__(self) -> None:
        self.stopped = False
        self._waiters = Waiters()

    def stop(self) -> None:
        """Raise `StoppedError` in all current waits, and in `check` and `wait` from now on."""
        self.stopped = True
        self._waiters.end(_stopped)

    def check(self) -> None:
        if self.stopped:
            raise _stopped()

    async def wait(self, future: asyncio.Future[None]) -> None:
        """Wait for the future; if the run is stopped first, the future fails with `StoppedError`."""
        if self.stopped and not future.done():
            future.set_exception(_stopped())
        await self._waiters.wait(future)


def resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _stopped() -> StoppedError:
    return StoppedError("The run is being stopped: this call was not sent. Resume the run to make it.")
