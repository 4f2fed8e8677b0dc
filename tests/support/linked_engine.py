"""Remote workers and their desk without a cluster: made from values, they exchange notes on one event loop."""

from __future__ import annotations

import asyncio
import functools
import itertools
from typing import TYPE_CHECKING

from prompt_evaluator.app.remote.worker import make_worker
from prompt_evaluator.engines.local import LocalEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.app.remote.desk import SharedDesk
    from prompt_evaluator.app.remote.worker import SampleProcess
    from prompt_evaluator.model.work import ItemEnd, WorkerSource, WorkItem
    from prompt_evaluator.ports.working import Items, MakeWorker, Results

WORKERS = 2


class LinkedEngine(LocalEngine):
    """Takes the place of the engine of Ray; its workers only share what the desk gives them."""

    def __init__(
        self,
        _cluster: object,
        source: Callable[[int], WorkerSource],
        desk: SharedDesk,
        *,
        window: int,
        **_others: object,
    ) -> None:
        super().__init__(window)
        self._source, self._desk = source, desk
        self._remote: list[SampleProcess] = []

    def stop(self, drain_seconds: float | None) -> None:
        super().stop(drain_seconds)
        for worker in self._remote:
            worker.stop()

    async def run(self, items: Items, make_local: MakeWorker, results: Results) -> None:  # noqa: ARG002 - the port's
        for number in range(WORKERS):
            self._desk.joined(number, functools.partial(self._to_worker, number))
            tell = functools.partial(self._to_desk, number)
            self._remote.append(make_worker(self._source(WORKERS), results, tell))
        try:
            await super().run(items, lambda _sink: _InTurn(self._remote), results)
        finally:
            for worker in self._remote:
                await worker.close()
            await asyncio.sleep(0)
            for number in range(WORKERS):
                self._desk.left(number)

    def _to_worker(self, number: int, note: bytes) -> None:
        asyncio.get_running_loop().call_soon(self._remote[number].heard, note)

    def _to_desk(self, number: int, note: bytes) -> None:
        asyncio.get_running_loop().call_soon(self._desk.heard, number, note)


class _InTurn:
    def __init__(self, workers: list[SampleProcess]) -> None:
        self._workers = itertools.cycle(workers)

    async def work(self, item: WorkItem) -> ItemEnd:
        return await next(self._workers).work(item)
