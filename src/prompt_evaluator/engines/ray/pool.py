"""The worker processes of one run: started, fed, listened to, and replaced when they die."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import msgspec

from prompt_evaluator import errors
from prompt_evaluator.engines.ray.actor import WorkerActor
from prompt_evaluator.engines.ray.messages import (
    Do,
    Ended,
    GiveUp,
    Made,
    Note,
    Raised,
    StartNothing,
    encode,
    read_by_driver,
)
from prompt_evaluator.errors import EngineError, PromptEvaluatorError, StoppedError
from prompt_evaluator.model.work import ItemEnd

if TYPE_CHECKING:
    from prompt_evaluator.engines.ray.messages import ToDriver, ToWorker
    from prompt_evaluator.model.work import WorkerSource, WorkItem
    from prompt_evaluator.ports import Desk, Results

_MOST_DEATHS = 5
"""How often an item may lose its worker, and how many workers in a row may die without finishing an item."""
_STARTS_WITHIN, _FOUND_WITHIN = 120.0, 900.0
"""Seconds for a worker process to start in a Ray of our own, and in a cluster, which may have to start machines."""
_CLOSES_WITHIN = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolOptions:
    """How many worker processes there are and what each gets."""

    workers: int
    window: int
    """Items in progress, over all workers."""
    gpus: float = 0.0
    own_ray: bool = True
    silence: float = 600.0
    """Seconds after which a process that says nothing counts as dead: stopped, or stuck in a function that lets
    nothing else run."""

    @property
    def each(self) -> int:
        """The most items in progress at one worker."""
        return math.ceil(self.window / self.workers)


class _StuckError(Exception):
    """A process lives, but does nothing."""


@dataclass(slots=True, eq=False)
class _Seat:
    """One worker process."""

    number: int
    actor: Any
    items: dict[int, tuple[WorkItem, asyncio.Future[ItemEnd]]] = field(default_factory=dict)
    to_send: list[ToWorker] = field(default_factory=list)
    sending: asyncio.Task[None] | None = None
    is_ready: bool = False
    has_ended_any: bool = False
    gone: asyncio.Event = field(default_factory=asyncio.Event)


class Pool:
    """A worker that passes each item on to the least busy process. An async context manager."""

    def __init__(self, ray: Any, source: WorkerSource, desk: Desk, options: PoolOptions, results: Results) -> None:
        self._ray, self._source, self._desk, self._options, self._results = ray, source, desk, options, results
        self._seats: dict[int, _Seat] = {}
        self._numbers = self._items = self._early_deaths = 0
        self._changed = asyncio.Event()
        self._lost: Counter[tuple[str, int]] = Counter()
        self._failure: Exception | None = None
        self._stopping = self._closing = False
        self._tasks: list[asyncio.Task[None]] = []
        gpus = {"num_gpus": options.gpus} if options.gpus else {}
        # Ray must not repeat anything by itself: it would start from the beginning and pay twice.
        self._actors = ray.remote(WorkerActor).options(
            num_cpus=0 if options.own_ray else 1,
            max_restarts=0,
            max_task_retries=0,
            max_concurrency=1_000,
            scheduling_strategy="DEFAULT" if options.own_ray else "SPREAD",
            **gpus,
        )

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._keep_one()) for _ in range(self._options.workers)]
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._closing = True
        await asyncio.gather(*(self._close(seat) for seat in self._seats.values() if seat.is_ready))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def work(self, item: WorkItem) -> ItemEnd:
        """Have a process work on the item, or raise what ends the run."""
        seat = await self._free_seat()
        number = self._items = self._items + 1
        future: asyncio.Future[ItemEnd] = asyncio.get_running_loop().create_future()
        seat.items[number] = item, future
        self._send(seat, Do(number, item))
        try:
            return await future
        except asyncio.CancelledError:
            self._send(seat, GiveUp(number))
            raise
        finally:
            if seat.items.pop(number, None):
                self._changed.set()

    def stop(self) -> None:
        """Have all processes start nothing new."""
        self._stopping = True
        for seat in self._seats.values():
            if seat.is_ready:
                self._send(seat, StartNothing())

    async def _free_seat(self) -> _Seat:
        while True:
            if self._failure is not None:
                raise self._failure
            ready = [seat for seat in self._seats.values() if seat.is_ready and len(seat.items) < self._options.each]
            if ready:
                return min(ready, key=lambda seat: len(seat.items))
            self._changed.clear()
            await self._changed.wait()

    async def _keep_one(self) -> None:
        """Keep one process working, and start another when it dies."""
        while not self._closing and self._failure is None:
            self._numbers += 1
            seat = _Seat(self._numbers, self._actors.remote(self._options.each))
            try:
                await self._serve(seat)
            except self._ray.exceptions.RayTaskError as error:
                self._fail(EngineError(f"A worker process failed: {type(error.cause).__name__}: {error.cause}"))
            except (self._ray.exceptions.RayError, _StuckError) as error:
                self._died(seat, error)
            except Exception as error:  # noqa: BLE001 - e.g. of the store or of Ray; it ends the run
                self._fail(error)
            finally:
                self._leave(seat)

    async def _serve(self, seat: _Seat) -> None:
        """Set a process up, then take in what it sends until it is closed or dies."""
        source, within = self._source, _STARTS_WITHIN if self._options.own_ray else _FOUND_WITHIN
        self._seats[seat.number] = seat
        self._desk.joined(seat.number, lambda note: self._send(seat, Note(note)))
        try:
            async with asyncio.timeout(within):
                answer = await self._set_up(seat, source)
        except TimeoutError:
            if any(other.is_ready for other in self._seats.values()):
                return
            raise EngineError(
                f"Ray gave no worker process within {within:,.0f} s. Check that the cluster has free CPUs"
                f"{' and GPUs' if self._options.gpus else ''} (`ray status`), or pass fewer --ray-workers."
            ) from None
        if isinstance(answer, tuple):
            raise EngineError(answer[1])
        seat.is_ready = True
        self._changed.set()
        if self._stopping:
            self._send(seat, StartNothing())
        self._send_soon(seat)
        while (messages := await self._collected(seat)) is not None:
            for message in read_by_driver(messages):
                self._take(seat, message)
            with suppress(StoppedError):  # the driver stops the run; what is on its way still counts
                await self._results.wait_for_capacity()

    async def _collected(self, seat: _Seat) -> bytes | None:
        silence = self._options.silence
        try:
            async with asyncio.timeout(silence):
                messages: bytes | None = await seat.actor.collect.remote(silence / 4)
        except TimeoutError:
            raise _StuckError(f"It has not answered for {silence:,.0f} s.") from None
        return messages

    async def _set_up(self, seat: _Seat, source: WorkerSource) -> tuple[str, str] | int:
        try:
            reference = seat.actor.set_up.remote(msgspec.structs.replace(source, private=b""), source.private)
        except TypeError as error:  # an object that cannot be pickled
            what = str(error).partition("\n")[0].rstrip(".")
            raise EngineError(
                f"The target cannot be sent to a worker process: {what}. Name it as python:module:function instead."
            ) from None
        answer: tuple[str, str] | int = await reference
        return answer

    def _take(self, seat: _Seat, message: ToDriver) -> None:
        match message:
            case Made(unit):
                self._results.put(unit)
            case Note(data):
                self._desk.heard(seat.number, data)
            case Ended(number, end):
                seat.has_ended_any, self._early_deaths = True, 0
                if (given := seat.items.get(number)) and not given[1].done():
                    given[1].set_result(end)
            case Raised(number, kind, text):
                if (given := seat.items.get(number)) and not given[1].done():
                    given[1].set_exception(_error(kind, text))

    def _died(self, seat: _Seat, error: Exception) -> None:
        """Report the items in progress as lost, so that they are handed out again."""
        if self._closing:
            return
        if not seat.has_ended_any:
            self._early_deaths += 1
            if self._early_deaths > _MOST_DEATHS * self._options.workers:
                what = str(error).partition("\n")[0]
                self._fail(EngineError(f"Ray's worker processes die before they finish anything: {what}"))
        for item, future in seat.items.values():
            key = item.case.id, item.sample
            self._lost[key] += 1
            if future.done():
                continue
            if self._lost[key] > _MOST_DEATHS:
                future.set_exception(
                    EngineError(
                        f"Worker processes have died {self._lost[key]} times while they worked on case {item.case.id} "
                        "and others. Check their memory, and whether the target or a metric crashes on it."
                    )
                )
            else:
                future.set_result(ItemEnd(case_id=item.case.id, sample=item.sample, state="lost"))

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        for seat in self._seats.values():
            for _item, future in seat.items.values():
                if not future.done():
                    future.set_exception(error)
        self._changed.set()

    def _leave(self, seat: _Seat) -> None:
        seat.is_ready = False
        seat.gone.set()
        if self._seats.pop(seat.number, None) is not None:
            self._desk.left(seat.number)
        with suppress(Exception):  # it may be dead, and so may Ray
            self._ray.kill(seat.actor)

    async def _close(self, seat: _Seat) -> None:
        """Cancel what a process works on, and wait until all that it has finished is here."""
        with suppress(Exception):
            async with asyncio.timeout(_CLOSES_WITHIN):
                await seat.actor.close.remote()
                await seat.gone.wait()

    def _send(self, seat: _Seat, message: ToWorker) -> None:
        seat.to_send.append(message)
        if seat.is_ready:
            self._send_soon(seat)

    def _send_soon(self, seat: _Seat) -> None:
        if seat.to_send and (seat.sending is None or seat.sending.done()):
            seat.sending = asyncio.create_task(self._send_all(seat))

    async def _send_all(self, seat: _Seat) -> None:
        """Send what there is, and what has come up meanwhile: the more there is to do, the larger the batches."""
        with suppress(self._ray.exceptions.RayError):  # the process has died, which `_serve` notices
            while seat.to_send:
                messages, seat.to_send = seat.to_send, []
                await seat.actor.accept.remote(encode(messages))


def _error(kind: str, text: str) -> Exception:
    """The error that a worker raised; one of ours keeps its class."""
    known = getattr(errors, kind, None)
    if isinstance(known, type) and issubclass(known, PromptEvaluatorError):
        with suppress(TypeError):  # needs more than a text
            return known(text)
        return EngineError(text)
    return EngineError(f"A worker process failed: {kind}: {text}")
