"""An engine that sends every item and every result as bytes, as one that works in other processes has to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.engines.local import LocalEngine
from prompt_evaluator.model import Generation, Judgement, Unit
from prompt_evaluator.model.work import ItemEnd, WorkItem

if TYPE_CHECKING:
    from prompt_evaluator.ports.working import Items, MakeWorker, Results, UnitSink, Worker

_encode = msgspec.msgpack.encode


class EncodingEngine(LocalEngine):
    """The local engine with a wall between the driver and the workers: only bytes go through."""

    async def run(self, items: Items, make_worker: MakeWorker, results: Results) -> None:
        await super().run(items, lambda sink: _FarWorker(make_worker(_FarSink(sink))), results)


class _FarWorker:
    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    async def work(self, item: WorkItem) -> ItemEnd:
        arrived = msgspec.msgpack.decode(_encode(item), type=WorkItem)
        end = await self._worker.work(arrived)
        return msgspec.msgpack.decode(_encode(end), type=ItemEnd)


class _FarSink:
    def __init__(self, sink: UnitSink) -> None:
        self._sink = sink

    def put(self, unit: Unit, done: Generation | Judgement | None = None) -> None:  # noqa: ARG002 - only bytes go through
        self._sink.put(msgspec.msgpack.decode(_encode(unit), type=Unit))

    async def wait_for_capacity(self) -> None:
        await self._sink.wait_for_capacity()
