"""What works on the samples of a run, in this process or in others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from prompt_evaluator.model import Generation, Judgement, Unit
    from prompt_evaluator.model.work import ItemEnd, WorkerSource, WorkItem

    MakeWorker = Callable[["UnitSink"], "Worker"]
    """Makes a worker in this process, which puts finished units into the sink."""
    Tell = Callable[[bytes], None]
    """Sends a note without waiting."""
    MakeRemote = Callable[[WorkerSource, "UnitSink", Tell], "RemoteWorker"]
    """Makes a worker in another process; it may send notes to its desk."""


class UnitSink(Protocol):
    """Where finished units go."""

    def put(self, unit: Unit, done: Generation | Judgement | None = None) -> None:
        """Accept a unit without waiting; it is durable a moment later. Raise `StoreError` if the store has failed.

        Args:
            unit: What was finished.
            done: Its decoded data if the caller has it, to save decoding it again.
        """

    def wait_for_capacity(self) -> Awaitable[None]:
        """Wait while too much is not yet durable. Raise `StoppedError` if nothing more may be begun."""


class Worker(Protocol):
    """Makes one sample at a time, from question to scores."""

    async def work(self, item: WorkItem) -> ItemEnd:
        """Finish an item. Raise only if the store has failed. May be called concurrently."""


class RemoteWorker(Worker, Protocol):
    """A worker in another process than the driver."""

    def heard(self, note: bytes) -> None:
        """Receive a note from the desk."""

    def stop(self) -> None:
        """Start nothing new."""

    async def close(self) -> None:
        """Release everything. No item may be in progress."""


class Desk(Protocol):
    """What the workers of a run share: it stays with the driver, and workers and desk send each other notes.

    An engine delivers the notes of a worker in order, and not before the units that were put earlier.
    """

    def joined(self, worker: int, tell: Tell) -> None:
        """A worker is about to start; numbers are not used again."""

    def heard(self, worker: int, note: bytes) -> None:
        """Receive a note from a worker."""

    def left(self, worker: int) -> None:
        """A worker has ended or died; no note can be sent to it any more."""


class Items(Protocol):
    """The work to do."""

    async def next(self) -> WorkItem | None:
        """Return the next item, or None when there are no more. May be called concurrently."""


class Results(UnitSink, Protocol):
    """Receives an engine's reports about the items it works on."""

    def began(self, case_id: str, sample: int) -> None: ...

    def stored(self) -> Awaitable[None]:
        """Wait until all units put so far are durable."""

    async def ended(self, end: ItemEnd) -> None:
        """Record the end of an item, all of whose units have been put."""


class Engine(Protocol):
    """Works on items, in this process or in many. Used for one run, once."""

    async def run(self, items: Items, make_worker: MakeWorker, results: Results) -> None:
        """Work on items until there are no more or `stop` is called; raise what a worker raises."""

    def stop(self, drain_seconds: float | None) -> None:
        """Take no more items; give those in progress this long to finish, or unlimited time if None."""
