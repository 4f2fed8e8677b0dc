"""Runs items in this process: a fixed number of workers on one event loop, fed from a stream to bound memory."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_evaluator.ports.working import Items, MakeWorker, Results, Worker


class LocalEngine:
    """Works on items until there are no more, it is stopped, or a worker raises. Used once, on one event loop."""

    def __init__(self, workers: int) -> None:
        self._count = workers
        self._workers: list[asyncio.Task[None]] = []
        self._stopped = False
        self._end_at = math.inf
        self._timer: asyncio.TimerHandle | None = None

    def stop(self, drain_seconds: float | None) -> None:
        """Take no more items; give those in progress this long to finish. Of several calls, the earliest end counts."""
        self._stopped = True
        if drain_seconds is None:
            return
        loop = asyncio.get_running_loop()
        end_at = loop.time() + drain_seconds
        if end_at < self._end_at:
            self._end_at = end_at
            if self._timer:
                self._timer.cancel()
            self._timer = loop.call_at(end_at, self._cancel)

    async def run(self, items: Items, make_worker: MakeWorker, results: Results) -> None:
        """Work on all items. If a worker raises, cancel the others and raise its error."""
        worker = make_worker(results)
        self._workers = [asyncio.create_task(self._work(items, worker, results)) for _ in range(self._count)]
        try:
            await asyncio.wait(self._workers, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            if self._timer:
                self._timer.cancel()
            self._cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)
        for done in self._workers:
            if not done.cancelled() and (error := done.exception()):
                raise error

    async def _work(self, items: Items, worker: Worker, results: Results) -> None:
        while not self._stopped and (item := await items.next()) is not None:
            results.began(item.case.id, item.sample)
            await results.ended(await worker.work(item))

    def _cancel(self) -> None:
        for worker in self._workers:
            worker.cancel()
