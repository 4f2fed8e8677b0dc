"""The Ray engine with workers whose work is done by functions of the test: each item comes back through a socket."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator import errors
from prompt_evaluator.engines.ray.cluster import RayCluster
from prompt_evaluator.engines.ray.engine import RayEngine
from prompt_evaluator.model import Unit
from prompt_evaluator.model.work import ItemEnd, WorkerSource, WorkItem

if TYPE_CHECKING:
    from prompt_evaluator.ports.working import Items, MakeWorker, Results, Tell, UnitSink

_LINE = 2**24
_encode = msgspec.json.encode


class Reply(msgspec.Struct, tag_field="is"):
    """What the test's function has done: a unit, or its end."""

    unit: Unit | None = None
    end: ItemEnd | None = None
    error: tuple[str, str] | None = None


class BridgedWorker:
    """In the worker process."""

    def __init__(self, place: str, sink: UnitSink) -> None:
        self._place, self._sink = place, sink

    async def work(self, item: WorkItem) -> ItemEnd:
        reader, writer = await asyncio.open_unix_connection(self._place, limit=_LINE)
        try:
            writer.write(_encode({"process": os.getpid(), "item": item}) + b"\n")
            while True:
                reply = msgspec.json.decode(await reader.readline(), type=Reply)
                if reply.unit:
                    self._sink.put(reply.unit)
                elif reply.end:
                    return reply.end
                elif reply.error:
                    raise getattr(errors, reply.error[0])(reply.error[1])
        finally:
            writer.close()

    def heard(self, note: bytes) -> None: ...

    def stop(self) -> None: ...

    async def close(self) -> None: ...


def make(source: WorkerSource, sink: UnitSink, _tell: Tell) -> BridgedWorker:
    if source.private:
        raise errors.ConfigurationError(source.private.decode())
    return BridgedWorker(source.spec.decode(), sink)


class NoDesk:
    """Nothing is shared."""

    def joined(self, worker: int, tell: Tell) -> None: ...

    def heard(self, worker: int, note: bytes) -> None: ...

    def left(self, worker: int) -> None: ...


class BridgedEngine:
    """The Ray engine with two processes, used like the local one."""

    def __init__(self, count: int, address: str, *, refuse: str = "", silence: float = 600) -> None:
        self.processes: list[int] = []
        """Which process got each item, in order."""
        self._place = ""
        self._refuse = refuse
        self._engine = RayEngine(RayCluster(address), self._source, NoDesk(), window=count, workers=2, silence=silence)

    def stop(self, drain_seconds: float | None) -> None:
        self._engine.stop(drain_seconds)

    async def run(self, items: Items, make_worker: MakeWorker, results: Results) -> None:
        with tempfile.TemporaryDirectory(prefix="pe-bridge-", dir="/tmp") as folder:
            self._place = f"{folder}/socket"

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await self._serve(reader, writer, make_worker)

            async with await asyncio.start_unix_server(serve, self._place, limit=_LINE) as server:
                await self._engine.run(items, make_worker, results)
                server.close()
            await asyncio.sleep(0.05)

    def _source(self, _workers: int) -> WorkerSource:
        return WorkerSource(
            maker="ray_bridge:make",
            spec=self._place.encode(),
            private=self._refuse.encode(),
            folder="/",
            path=(str(Path(__file__).parent),),
        )

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, make_worker: MakeWorker) -> None:
        given: dict[str, Any] = msgspec.json.decode(await reader.readline())
        self.processes.append(given["process"])
        worker = make_worker(_Sink(writer))
        working = asyncio.ensure_future(worker.work(msgspec.convert(given["item"], WorkItem)))
        hung_up = asyncio.ensure_future(reader.read(1))
        try:
            await asyncio.wait({working, hung_up}, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                writer.write(_encode(_reply(working)) + b"\n")
                with suppress(ConnectionError):
                    await writer.drain()
        finally:
            for task in (working, hung_up):
                task.cancel()
            await asyncio.gather(working, hung_up, return_exceptions=True)
            writer.close()


class _Sink:
    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def put(self, unit: Unit, done: object = None) -> None:  # noqa: ARG002 - the port's signature
        self._writer.write(_encode(Reply(unit=unit)) + b"\n")

    async def wait_for_capacity(self) -> None: ...


def _reply(working: asyncio.Future[ItemEnd]) -> Reply:
    if error := working.exception():
        return Reply(error=(type(error).__name__, str(error)))
    return Reply(end=working.result())
