"""The worker processes of one run: started, fed, listened to, and replaced when they die."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from dataclasses import dataclass
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
    Stored,
    encode,
    read_by_driver,
)
from prompt_evaluator.engines.ray.seats import Given, Queue, Seat
from prompt_evaluator.engines.ray.suspects import MOST_ALONE, Suspects
from prompt_evaluator.errors import EngineError, PromptEvaluatorError, StoppedError
from prompt_evaluator.model.work import ItemEnd

if TYPE_CHECKING:
    from prompt_evaluator.engines.ray.messages import ToDriver, ToWorker
    from prompt_evaluator.model.work import WorkerSource, WorkItem
    from prompt_evaluator.ports import Desk, Results

_MOST_UNUSED = 5
"""Times the number of workers: how many processes may die before they get an item, while no other makes anything."""
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


class Pool:
    """A worker that passes each item on to the least busy process. An async context manager."""

    def __init__(self, ray: Any, source: WorkerSource, desk: Desk, options: PoolOptions, results: Results) -> None:
        self._ray, self._source, self._desk, self._options, self._results = ray, source, desk, options, results
        self._seats: dict[int, Seat] = {}
        self._queue, self._suspects = Queue(options.each), Suspects(options.each)
        self._numbers = self._items = self._unused = 0
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
        self._tasks = [asyncio.create_task(self._keep_one(at)) for at in range(self._options.workers)]
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._closing = True
        await asyncio.gather(*(self._close(seat) for seat in self._seats.values() if seat.is_ready))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def work(self, item: WorkItem) -> ItemEnd:
        """Have a process work on the item, or raise what ends the run."""
        if self._failure is not None:
            raise self._failure
        self._items += 1
        end: asyncio.Future[ItemEnd] = asyncio.get_running_loop().create_future()
        given = Given(self._items, item, end, self._suspects.deaths(item), self._suspects.company(item))
        self._queue.add(given)
        self._place()
        try:
            return await end
        except asyncio.CancelledError:
            if given.seat is not None:
                self._send(given.seat, GiveUp(given.number))
            raise
        finally:
            self._release(given)

    def stop(self) -> None:
        """Have all processes start nothing new."""
        self._stopping = True
        for seat in self._seats.values():
            if seat.is_ready:
                self._send(seat, StartNothing())

    def _place(self) -> None:
        if self._failure is not None:
            return
        for given in self._queue.place(self._seats.values()):
            assert given.seat is not None  # noqa: S101 - placed
            self._send(given.seat, Do(given.number, given.item))

    def _release(self, given: Given) -> None:
        if given.seat is None:
            self._queue.discard(given)
        else:
            given.seat.release(given)
        self._place()

    async def _keep_one(self, at: int) -> None:
        """Keep one process working, and start another when it dies."""
        while not self._closing and self._failure is None:
            self._numbers += 1
            each = self._options.each
            seat = Seat(self._numbers, self._actors.remote(each), each, is_for_suspects=at == 0)
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

    async def _serve(self, seat: Seat) -> None:
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
        if self._stopping:
            self._send(seat, StartNothing())
        self._send_soon(seat)
        self._place()
        while (messages := await self._collected(seat)) is not None:
            for message in read_by_driver(messages):
                self._take(seat, message)
            with suppress(StoppedError):  # the driver stops the run; what is on its way still counts
                await self._results.wait_for_capacity()

    async def _collected(self, seat: Seat) -> bytes | None:
        silence = self._options.silence
        try:
            async with asyncio.timeout(silence):
                messages: bytes | None = await seat.actor.collect.remote(silence / 4)
        except TimeoutError:
            raise _StuckError(f"It has not answered for {silence:,.0f} s.") from None
        return messages

    async def _set_up(self, seat: Seat, source: WorkerSource) -> tuple[str, str] | int:
        try:
            reference = seat.actor.set_up.remote(msgspec.structs.replace(source, private=b""), source.private)
        except TypeError as error:  # an object that cannot be pickled
            what = str(error).partition("\n")[0].rstrip(".")
            raise EngineError(
                f"The target cannot be sent to a worker process: {what}. Name it as python:module:function instead."
            ) from None
        answer: tuple[str, str] | int = await reference
        return answer

    def _take(self, seat: Seat, message: ToDriver) -> None:
        match message:
            case Made(unit):
                self._works(seat)
                self._results.put(unit)
                self._confirm_soon(seat)
            case Note(data):
                self._desk.heard(seat.number, data)
            case Ended(number, end):
                self._works(seat)
                if (given := seat.items.get(number)) and not given.end.done():
                    self._suspects.ended(given.item)
                    given.end.set_result(end)
            case Raised(number, kind, text):
                if (given := seat.items.get(number)) and not given.end.done():
                    given.end.set_exception(_error(kind, text))

    def _works(self, seat: Seat) -> None:
        seat.has_made_any, self._unused = True, 0

    def _died(self, seat: Seat, error: Exception) -> None:
        """Report the items in progress as lost, so that they are handed out again, unless one of them is to blame."""
        if self._closing:
            return
        lost = [given for given in seat.items.values() if not given.end.done()]
        if not lost and not seat.has_made_any:
            self._died_unused(error)
        guilty = self._suspects.died([given.item for given in lost])
        if guilty is not None:
            self._fail(
                EngineError(
                    f"Worker processes have died {MOST_ALONE} times while they worked on nothing but case "
                    f"{guilty.case.id}. Check their memory, and whether the target or a metric crashes on it."
                )
            )
            return
        for given in lost:
            given.end.set_result(ItemEnd(case_id=given.item.case.id, sample=given.item.sample, state="lost"))

    def _died_unused(self, error: Exception) -> None:
        self._unused += 1
        if self._unused > _MOST_UNUSED * self._options.workers:
            what = str(error).partition("\n")[0]
            self._fail(EngineError(f"Ray's worker processes die before they get anything to do: {what}"))

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        given = [given for seat in self._seats.values() for given in seat.items.values()]
        for each in (*given, *self._queue):
            if not each.end.done():
                each.end.set_exception(error)

    def _leave(self, seat: Seat) -> None:
        seat.is_ready = False
        seat.gone.set()
        if seat.confirming is not None:
            seat.confirming.cancel()
        if self._seats.pop(seat.number, None) is not None:
            self._desk.left(seat.number)
        with suppress(Exception):  # it may be dead, and so may Ray
            self._ray.kill(seat.actor)

    async def _close(self, seat: Seat) -> None:
        """Cancel what a process works on, and wait until all that it has finished is here."""
        with suppress(Exception):
            async with asyncio.timeout(_CLOSES_WITHIN):
                await seat.actor.close.remote()
                await seat.gone.wait()

    def _confirm_soon(self, seat: Seat) -> None:
        seat.unconfirmed += 1
        if seat.confirming is None or seat.confirming.done():
            seat.confirming = asyncio.create_task(self._confirm(seat))

    async def _confirm(self, seat: Seat) -> None:
        """Tell a process which of its units are durable, and which have become so meanwhile."""
        try:
            while units := seat.unconfirmed:
                await self._results.stored()
                seat.unconfirmed -= units
                self._send(seat, Stored(units))
        except PromptEvaluatorError as error:
            self._fail(error)

    def _send(self, seat: Seat, message: ToWorker) -> None:
        seat.to_send.append(message)
        if seat.is_ready:
            self._send_soon(seat)

    def _send_soon(self, seat: Seat) -> None:
        if seat.to_send and (seat.sending is None or seat.sending.done()):
            seat.sending = asyncio.create_task(self._send_all(seat))

    async def _send_all(self, seat: Seat) -> None:
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
