"""The worker process: an async actor that works on items and hands over what is finished, batch by batch."""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.engines.ray.messages import (
    Do,
    Ended,
    GiveUp,
    Made,
    Note,
    Raised,
    StartNothing,
    Stored,
    encode,
    read_by_worker,
)
from prompt_evaluator.errors import PromptEvaluatorError

if TYPE_CHECKING:
    from prompt_evaluator.engines.ray.messages import ToDriver
    from prompt_evaluator.model import Generation, Judgement, Unit
    from prompt_evaluator.model.work import WorkerSource, WorkItem
    from prompt_evaluator.ports.working import MakeRemote, RemoteWorker

_FEWEST_WAITING = 4
_END_WITHIN = 2.0
"""Seconds that cancelled items have for cleaning up."""


class WorkerActor:
    """Ray makes one in each worker process. Its methods run on one event loop, and several may be in progress."""

    def __init__(self, window: int) -> None:
        """Start without a worker.

        Args:
            window: The most items in progress. Calls wait while half as many units are not durable, so that a death,
                of this process or of the driver, costs at most the calls of one and a half windows.
        """
        self._most_waiting = max(_FEWEST_WAITING, window // 2)
        self._unstored = 0
        """Units that the driver has not called durable."""
        self._worker: RemoteWorker | None = None
        self._outbox: list[ToDriver] = []
        self._something = asyncio.Event()
        self._stored = asyncio.Event()
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._closed = False

    async def set_up(self, source: WorkerSource, private: bytes) -> tuple[str, str] | int:
        """Make the worker. Return the id of this process, or the class and text of the error why it cannot be made.

        Not part of the constructor, whose arguments Ray keeps on its head node. What is private is an argument
        of its own, because Ray puts large arguments into its object store.
        """
        try:
            _take_over(source)
            whole = msgspec.structs.replace(source, private=private)
            self._worker = _maker(source.maker)(whole, self, self._tell)
        except PromptEvaluatorError as error:
            return type(error).__name__, str(error)
        return os.getpid()

    async def accept(self, messages: bytes) -> None:
        """Take messages from the driver."""
        worker = self._worker
        assert worker is not None  # noqa: S101 - set up before anything else
        for message in read_by_worker(messages):
            match message:
                case Do(number, item):
                    self._tasks[number] = asyncio.create_task(self._work(number, item, worker))
                case GiveUp(number):
                    if task := self._tasks.get(number):
                        task.cancel()
                case StartNothing():
                    worker.stop()
                case Stored(units):
                    self._unstored -= units
                    self._stored.set()
                case Note(data):
                    worker.heard(data)

    async def collect(self, patience: float) -> bytes | None:
        """Return messages for the driver as soon as there are any; None after the last ones.

        Return none after this many seconds, so that the driver knows that the process is not stuck.
        """
        try:
            await asyncio.wait_for(self._something.wait(), patience)
        except TimeoutError:
            return encode([])
        self._something.clear()
        if not self._outbox:
            return None
        messages, self._outbox = self._outbox, []
        if self._closed:
            self._something.set()
        return encode(messages)

    async def close(self) -> None:
        """Cancel what is in progress; afterwards, `collect` returns what is left."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_END_WITHIN)
        if self._worker is not None:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._worker.close(), _END_WITHIN)
        self._closed = True
        self._something.set()

    # The sink of the worker.

    def put(self, unit: Unit, done: Generation | Judgement | None = None) -> None:  # noqa: ARG002 - the driver decodes it
        self._unstored += 1
        self._say(Made(unit))

    async def wait_for_capacity(self) -> None:
        while self._unstored >= self._most_waiting:
            self._stored.clear()
            await self._stored.wait()

    async def _work(self, number: int, item: WorkItem, worker: RemoteWorker) -> None:
        try:
            self._say(Ended(number, await worker.work(item)))
        except Exception as error:  # noqa: BLE001 - raised again in the driver
            self._say(Raised(number, type(error).__name__, str(error)))
        finally:
            del self._tasks[number]

    def _tell(self, note: bytes) -> None:
        self._say(Note(note))

    def _say(self, message: ToDriver) -> None:
        self._outbox.append(message)
        self._something.set()


def _take_over(source: WorkerSource) -> None:
    """Use the driver's working folder, if it exists here, and find modules where the driver does."""
    if source.folder and Path(source.folder).is_dir():
        os.chdir(source.folder)
    sys.path.extend(folder for folder in source.path if folder not in sys.path)


def _maker(name: str) -> MakeRemote:
    module, _, function = name.partition(":")
    made: MakeRemote = getattr(importlib.import_module(module), function)
    return made
