"""Work in this process: a fixed number of workers on one event loop, fed from a stream, so memory does not grow."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

T = TypeVar("T")


class Feed(Generic[T]):
    """Items that are loaded a batch at a time, the next while the last is being worked on."""

    def __init__(self, load: Callable[[], Coroutine[None, None, Sequence[T] | None]]) -> None:
        """Take what loads the next batch; it answers None when there are no more."""
        self._load = load
        self._ready: deque[T] = deque()
        self._few = 0
        self._loading: asyncio.Task[Sequence[T] | None] | None = None
        self._ended = False

    async def next(self) -> T | None:
        """The next item; None when there are no more."""
        while True:
            if self._loading is not None and self._loading.done():
                self._take(self._loading)
            if len(self._ready) <= self._few and not self._ended and self._loading is None:
                self._loading = asyncio.create_task(self._load())
            if self._ready:
                return self._ready.popleft()
            if self._loading is None:
                return None
            await asyncio.wait({self._loading})

    async def close(self) -> None:
        """Wait for what is being loaded; what came of it is of no interest any more."""
        if self._loading is not None:
            await asyncio.gather(self._loading, return_exceptions=True)

    def _take(self, loaded: asyncio.Task[Sequence[T] | None]) -> None:
        self._loading = None
        batch = loaded.result()
        if batch is None:
            self._ended = True
        else:
            self._ready.extend(batch)
            self._few = len(batch) // 2


class LocalEngine:
    """Runs work until the feed ends, somebody stops it, or work raises."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._drain_seconds: float | None = None
        self._stop = asyncio.Event()

    def stop(self, drain_seconds: float | None) -> None:
        """Hand out no more work; what is under way has so long to finish, or as long as it takes."""
        self._drain_seconds = drain_seconds
        self._stop.set()

    async def run(self, feed: Feed[T], work: Callable[[T], Awaitable[None]]) -> None:
        """Raise the first error of any worker, after ending the others."""
        workers = [asyncio.create_task(self._worker(feed, work)) for _ in range(self._workers)]
        stopped = asyncio.create_task(self._stop.wait())
        try:
            pending = {*workers, stopped}
            while not all(worker.done() for worker in workers) and not stopped.done():
                done, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
                if any(worker.exception() for worker in done - {stopped} if not worker.cancelled()):
                    break
            if stopped.done():
                await asyncio.wait(workers, timeout=self._drain_seconds)
        finally:
            for task in (*workers, stopped):
                task.cancel()
            await asyncio.gather(*workers, stopped, return_exceptions=True)
            await feed.close()
        for worker in workers:
            if not worker.cancelled() and (error := worker.exception()):
                raise error

    async def _worker(self, feed: Feed[T], work: Callable[[T], Awaitable[None]]) -> None:
        while not self._stop.is_set() and (item := await feed.next()) is not None:
            await work(item)
