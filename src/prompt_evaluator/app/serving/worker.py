"""Makes the runs that wait in the queue: several at once, in order, and again after a process has died."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING
from uuid import uuid4

import msgspec

from prompt_evaluator.app.calls import Meter
from prompt_evaluator.app.clock import as_text, now
from prompt_evaluator.app.evaluate import begin_run
from prompt_evaluator.app.planning.options import with_engine
from prompt_evaluator.app.resume import resume_run
from prompt_evaluator.app.serving.queueing import QueuedRun
from prompt_evaluator.app.serving.run_answers import WORKER_STOPPED
from prompt_evaluator.app.session import Session
from prompt_evaluator.errors import (
    OwnershipLostError,
    PromptEvaluatorError,
    RunBusyError,
    StoppedError,
    StoreError,
    StoreUnreachableError,
)

if TYPE_CHECKING:
    from prompt_evaluator.app.session import Stoppable
    from prompt_evaluator.app.workspace import Workspace
    from prompt_evaluator.model.outcome import Outcome
    from prompt_evaluator.model.queue import QueuedRequest
    from prompt_evaluator.model.run_limits import RunLimits
    from prompt_evaluator.store import Store
    from prompt_evaluator.store.ownership import Held

_LOG = logging.getLogger("prompt_evaluator.worker")
_EVERY = 1.0
"""Seconds between looks at the queue. What adds to it may wake the worker earlier."""
_LOST_EVERY = 0.25
"""Seconds between looks for runs whose worker is gone, so that another one has them within a second."""
_INTERRUPTED = (OwnershipLostError, StoreUnreachableError)
_PLANNING = timedelta(minutes=10)
"""How long the runs of a group may take to be planned."""


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
        self._presence, self._name = ExitStack(), ""
        """A name that this worker owns in the store, so that others can see that it is there."""
        self._lease: Held | None = None
        self._look_at = 0.0

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
        with self._presence:
            while not self._stopping:
                try:
                    await self._look()
                    self._is_blind = False
                except StoreError as error:
                    if not self._is_blind:
                        _LOG.warning("The queue cannot be read, and will be tried every second: %s", error)
                    self._is_blind = True
                    self._awake.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._awake.wait(), _EVERY if self._is_blind else _LOST_EVERY)
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _look(self) -> None:
        await asyncio.to_thread(self._be_present)
        found = await asyncio.to_thread(self._find_lost, frozenset(self._tasks.values()))
        if not (found or self._awake.is_set() or time.monotonic() >= self._look_at):
            return
        self._awake.clear()
        self._look_at = time.monotonic() + _EVERY
        store = self._workspace.store
        await asyncio.to_thread(store.abort_forgotten, before=as_text(datetime.now(UTC) - _PLANNING))
        while len(self._tasks) < self._most and not self._stopping:
            mine = frozenset(self._tasks.values())
            request = await asyncio.to_thread(store.take_next, started_at=now(), worker=self._name, busy=mine)
            if request is None:
                return
            task = asyncio.create_task(self._make(request))
            self._tasks[task] = request.id
            task.add_done_callback(self._ended)

    def _be_present(self) -> None:
        """Own a name, a new one if the last was lost: for the store, this worker was gone for a while."""
        if self._lease is not None and self._lease.is_held:
            return
        self._presence.close()
        self._name = f"worker-{uuid4().hex}"
        self._lease = self._presence.enter_context(self._workspace.store.own(self._name))

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task)
        self._awake.set()

    async def _make(self, request: QueuedRequest) -> None:
        try:
            error = await self._ending(request)
        except RunBusyError:  # another worker has it
            return
        except _INTERRUPTED as raised:
            _LOG.warning("Run %s stopped, and goes on by itself: %s", request.run_id, raised)
            return
        except StoppedError:  # the next worker goes on with it
            return
        finally:
            self._runs.pop(request.id, None)
        finish = partial(self._workspace.store.finish_request, worker=request.worker)
        try:
            await asyncio.to_thread(finish, request.id, ended_at=now(), error=error)
        except StoreError as raised:  # a worker that finds the request started and its run ended closes it
            _LOG.warning("Run %s has ended, but its request is still open: %s", request.run_id, raised)

    async def _ending(self, request: QueuedRequest) -> str | None:
        """Make the run, and return why it could not be made, if so. Raise an error if the request is not over."""
        error = None
        try:
            outcome = await self._carried_out(request)
        except (RunBusyError, *_INTERRUPTED):
            raise
        except PromptEvaluatorError as raised:
            _LOG.warning("Run %s ends here: %s", request.run_id, raised)
            error = str(raised)
        except Exception as raised:  # noqa: BLE001 - a fault in one run must not end the others
            _LOG.exception("Run %s failed", request.run_id)
            error = f"{type(raised).__name__}: {raised}"
        else:
            if isinstance(outcome.stopped_by, _INTERRUPTED):
                raise outcome.stopped_by
            if self._stopping and outcome.record.status == "aborted":
                raise StoppedError(WORKER_STOPPED)
        if error is not None and request.run_id is not None:
            await asyncio.to_thread(self._give_up, request.run_id, error)
        return error

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
        with suppress(PromptEvaluatorError), store.own(run_id):
            store.update_run(run_id, status="aborted", stop_reason=reason)

    def _find_lost(self, mine: frozenset[int]) -> bool:
        """Queue runs again whose worker is gone; `mine` are those that this one works on. Return whether any was."""
        store, found = self._workspace.store, False
        for request in store.lost_requests(self._name, mine):
            if store.recover_request(request, again=self._resumes, ended_at=now()):
                found = True
                how = "goes on" if self._resumes else "can be resumed"
                _LOG.info("Run %s: its worker is gone; %s", request.run_id, how)
        return found


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
