"""Where use cases run: in a few threads, changes before reads, and once for equal reads that wait together."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from anyio import CapacityLimiter, to_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

T = TypeVar("T")

_READS = 3
"""At once. They share one interpreter, so more of them would only wait for each other."""
_CHANGES = 4
_PATIENCE = 0.25
"""Seconds for which a read waits for changes. Starting a run takes less, unless its dataset is large."""


class Threads:
    """The threads of one server. Each use case has a connection of the store."""

    def __init__(self) -> None:
        """Start without any."""
        self._reading, self._changing = asyncio.Semaphore(_READS), CapacityLimiter(_CHANGES)
        self._read_threads = CapacityLimiter(_READS)
        self._waiting: dict[Hashable, asyncio.Task[Any]] = {}
        self._changes = 0
        self._calm = asyncio.Event()

    async def look_up(self, function: Callable[[], T]) -> T:
        """Run something short that a request cannot go on without, beside everything else."""
        return await to_thread.run_sync(function, limiter=self._changing, abandon_on_cancel=True)

    async def change(self, function: Callable[[], T]) -> T:
        """Run something that changes the store. Reads that have not begun wait for it."""
        self._changes += 1
        self._calm.clear()
        try:
            return await self.look_up(function)
        finally:
            self._changes -= 1
            if not self._changes:
                self._calm.set()

    async def read(self, key: Hashable, function: Callable[[], T]) -> T:
        """Run something that changes nothing. Equal reads that wait for a thread get one result.

        Nobody gets a result that was begun before they asked, so those who change something see the change.
        """
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = self._waiting[key] = asyncio.create_task(self._read(key, function))
        found: T = await asyncio.shield(waiting)  # somebody else may wait for it, too
        return found

    async def _read(self, key: Hashable, function: Callable[[], T]) -> T:
        async with self._reading:
            if self._changes:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._calm.wait(), _PATIENCE)
            del self._waiting[key]  # those who ask from now on get a newer one
            return await to_thread.run_sync(function, limiter=self._read_threads)
