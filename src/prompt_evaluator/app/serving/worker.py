"""Makes the runs that wait in the queue: several at once, in order, and again after a process has died."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.calls import Meter
from prompt_evaluator.app.clock import as_text, now
from prompt_evaluator.app.evaluate import begin_run
from prompt_evaluator.app.planning.options import with_engine
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.app.serving.queueing import QueuedRun
from prompt_evaluator.app.serving.run_answers import WORKER_STOPPED
from prompt_evaluator.app.session import Session
from prompt_evaluator.errors import PromptEvaluatorError, RunBusyError, StoreError

if TYPE_CHECKING:
    from prompt_evaluator.app.session import Stoppable
    from prompt_evaluator.app.workspace import Workspace
    from prompt_evaluator.model.outcome import Outcome
    from prompt_evaluator.model.queue import QueuedRequest
    from prompt_evaluator.model.run_limits import RunLimits
    from prompt_evaluator.store import Store

_LOG = logging.getLogger("prompt_evaluator.worker")
_EVERY = 1.0
"""Seconds between looks at the queue. What adds to it may wake the worker earlier."""
_PLANNING = timedelta(minutes=10)
"""How long the runs of a group may take to be planned."""
_MISSED = 2
"""Looks in a row that find a started run without an owner: a worker owns a run shortly after it took it."""


class Worker:
    """One process's share of the queue. Call `stop` to end it; its runs can then be resumed."""

    def __init__(self, workspace: Workspace, *, runs_at_once: int, resumes: bool) -> None:
        """Prepare; nothing is taken yet.

        Args:
            workspace: Shared by all runs, so that they keep the limits of a key together.
            runs_at_once: The most runs in progress.
            resumes: Whether runs whose worker died go on by themselves; otherwise they wait to be resumed.
        """
        self._workspace, self._most, self._resumes = workspace, runs_at_once, resumes
        self._tasks: dict[asyncio.Task[None], int] = {}
        """With the number of each request."""
        self._runs: dict[int, Stoppable] = {}
        self._awake = asyncio.Event()
        self._stopping = False
        self._is_blind = False
        """Whether the queue could not be read the last time."""
        self._lost: dict[int, int] = {}
        """How often in a row a started request was seen without an owner of its run."""

    def wake(self) -> None:
        """Look at the queue now."""
        self._awake.set()

    def stop(self) -> None:
        """Take nothing more, and end the runs in progress so that they can be resumed."""
        self._stopping = True
        self._awake.set()
        for run in self._runs.values():
            run.stop(WORKER_STOPPED)

    async def work(self) -> None:
        """Work until stopped."""
        while not self._stopping:
            try:
                await self._look()
                self._is_blind = False
            except StoreError as error:
                if not self._is_blind:
                    _LOG.warning("The queue cannot be read, and will be tried every second: %s", error)
                self._is_blind = True
            with suppress(TimeoutError):
                await asyncio.wait_for(self._awake.wait(), _EVERY)
            self._awake.clear()
        if self._tasks:
            await asyncio.wait(self._tasks)

    async def _look(self) -> None:
        await asyncio.to_thread(self._find_lost, frozenset(self._tasks.values()))
        while len(self._tasks) < self._most and not self._stopping:
            request = await asyncio.to_thread(self._workspace.store.take_next, started_at=now())
            if request is None:
                return
            task = asyncio.create_task(self._make(request))
            self._tasks[task] = request.id
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task)
        self._awake.set()

    async def _make(self, request: QueuedRequest) -> None:
        store = self._workspace.store
        error = None
        try:
            outcome = await self._carried_out(request)
        except RunBusyError:  # another worker has it
            return
        except PromptEvaluatorError as raised:
            error = str(raised)
            if request.run_id is not None:
                await asyncio.to_thread(self._give_up, request.run_id, error)
        except Exception as raised:  # noqa: BLE001 - a fault in one run must not end the others
            _LOG.exception("Run %s failed", request.run_id)
            error = f"{type(raised).__name__}: {raised}"
            if request.run_id is not None:
                await asyncio.to_thread(self._give_up, request.run_id, error)
        else:
            if self._stopping and outcome.record.status == "aborted":
                return  # the next worker goes on with it
        finally:
            self._runs.pop(request.id, None)
        try:
            await asyncio.to_thread(store.finish_request, request.id, ended_at=now(), error=error)
        except StoreError as raised:  # a worker that finds the request started and its run ended closes it
            _LOG.warning("Run %s has ended, but its request is still open: %s", request.run_id, raised)

    async def _carried_out(self, request: QueuedRequest) -> Outcome:
        wanted = msgspec.convert(request.request, QueuedRun)

        def remember(run: Stoppable) -> None:
            self._runs[request.id] = run
            if self._stopping:
                run.stop(WORKER_STOPPED)

        left = await asyncio.to_thread(_left, wanted, self._workspace.store)
        limits = with_engine(left, self._workspace.settings)
        session = Session(workspace=self._workspace, limits=limits, meter=Meter(), on_run=remember)
        record = await asyncio.to_thread(self._workspace.store.run, wanted.run_id)
        _LOG.info("Run %s of %s on %s", wanted.run_id, record.plan.target.model, record.plan.dataset.path)
        if not await asyncio.to_thread(self._workspace.store.known_cases, wanted.run_id):
            return await begin_run(record, session)
        return await resume_run(wanted.run_id, session, retry_errors=wanted.retry_errors)

    def _give_up(self, run_id: str, reason: str) -> None:
        """Say in the run why it could not be made."""
        store = self._workspace.store
        with suppress(PromptEvaluatorError):
            store.update_run(run_id, status="aborted", stop_reason=reason)

    def _find_lost(self, mine: frozenset[int]) -> None:
        """Queue runs again whose worker is gone; `mine` are those that this one works on."""
        store = self._workspace.store
        store.abort_forgotten(before=as_text(datetime.now(UTC) - _PLANNING))
        seen: dict[int, int] = {}
        for request in store.queue("started"):
            if request.id in mine or request.run_id is None or store.owner(request.run_id):
                continue
            seen[request.id] = self._lost.get(request.id, 0) + 1
            if seen[request.id] >= _MISSED:
                self._recover(request, seen)
        self._lost = seen

    def _recover(self, request: QueuedRequest, seen: dict[int, int]) -> None:
        del seen[request.id]
        store = self._workspace.store
        if not store.recover_request(request.id, again=self._resumes, ended_at=now()):
            return
        _LOG.info("Run %s: its worker is gone; %s", request.run_id, "goes on" if self._resumes else "can be resumed")


def _left(wanted: QueuedRun, store: Store) -> RunLimits:
    """The limits less what the run has used up already: neither a kill nor a resume gives it another budget."""
    limits = wanted.limits
    if limits.max_calls is None and limits.max_cost is None:
        return limits
    spent = store.spent(wanted.run_id)
    calls, cost = limits.max_calls, limits.max_cost
    return msgspec.structs.replace(
        limits,
        max_calls=None if calls is None else max(0, calls - spent.calls),
        max_cost=None if cost is None else max(0.0, cost - spent.cost),
    )
