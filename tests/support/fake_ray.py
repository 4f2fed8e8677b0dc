"""A Ray whose processes are tasks of this event loop. The actors are the real ones, and die when a test says so."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from prompt_evaluator.engines.ray.actor import WorkerActor
from prompt_evaluator.model.work import ItemEnd, WorkerSource, WorkItem

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from prompt_evaluator.ports.working import Tell, UnitSink

    Work = Callable[["Process", WorkItem, UnitSink], Awaitable[None]]
    """What a process does with an item."""


class DeadError(Exception):
    """What calls of a dead process raise."""


class Process:
    """One worker process."""

    def __init__(self, ray: FakeRay, window: int) -> None:
        self.items: list[WorkItem] = []
        """In progress."""
        self.is_dead = False
        self.actor = WorkerActor(window)
        self._ray = ray
        self._died: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._tasks: set[asyncio.Task[Any]] = set()

    def __getattr__(self, method: str) -> Any:
        return SimpleNamespace(remote=lambda *arguments: self._call(getattr(self.actor, method)(*arguments)))

    def die(self) -> None:
        """As after `kill -9`: nothing more is done, and what was not collected is lost."""
        if self.is_dead:
            return
        self.is_dead = True
        self._ray.living.remove(self)
        self._died.set_result(None)
        for task in self._tasks:
            task.cancel()

    async def work(self, item: WorkItem, sink: UnitSink) -> ItemEnd:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.items.append(item)
        try:
            await self._ray.work(self, item, sink)
            return ItemEnd(case_id=item.case.id, sample=item.sample, state="finished")
        finally:
            self._tasks.discard(task)
            self.items.remove(item)

    async def _call(self, doing: Any) -> Any:
        task = asyncio.ensure_future(doing)
        self._tasks.add(task)
        try:
            await asyncio.wait({task, self._died}, return_when=asyncio.FIRST_COMPLETED)
            if self.is_dead:
                raise DeadError("The process died.")
            return task.result()
        finally:
            task.cancel()
            self._tasks.discard(task)


class FakeRay:
    """In the place of the module `ray`."""

    exceptions = SimpleNamespace(RayError=DeadError, RayTaskError=type("RayTaskError", (Exception,), {}))

    def __init__(self, work: Work) -> None:
        self.work = work
        self.processes: list[Process] = []
        self.living: list[Process] = []

    def remote(self, _actor: type[WorkerActor]) -> Any:
        return SimpleNamespace(options=lambda **_options: SimpleNamespace(remote=self._started))

    def kill(self, process: Process) -> None:
        process.die()

    def source(self) -> WorkerSource:
        """What its workers are made from."""
        return WorkerSource(maker="fake_ray:make", spec=b"", folder="", path=(), objects={"ray": self})

    def _started(self, window: int) -> Process:
        process = Process(self, window)
        self.processes.append(process)
        self.living.append(process)
        return process


class _Worker:
    def __init__(self, process: Process, sink: UnitSink) -> None:
        self._process, self._sink = process, sink

    async def work(self, item: WorkItem) -> ItemEnd:
        return await self._process.work(item, self._sink)

    def heard(self, note: bytes) -> None: ...

    def stop(self) -> None: ...

    async def close(self) -> None: ...


def make(source: WorkerSource, sink: UnitSink, _tell: Tell) -> _Worker:
    ray: FakeRay = source.objects["ray"]
    return _Worker(next(process for process in ray.living if process.actor is sink), sink)
