"""Drives a run: hands unfinished samples to an engine, then stores, counts and reports the results."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, closing, suppress
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import (
    BudgetSpentError,
    EngineError,
    OwnershipLostError,
    ProviderError,
    StoppedError,
    StoreError,
)
from prompt_evaluator.model.event import CaseDone, RunEnded, RunStarted, SampleDone, SampleStarted
from prompt_evaluator.model.outcome import Outcome
from prompt_evaluator.pipeline.assemble import Assembler
from prompt_evaluator.pipeline.feed import Feed
from prompt_evaluator.pipeline.loading import Loader
from prompt_evaluator.pipeline.preparing import preparations
from prompt_evaluator.pipeline.progress import Counts
from prompt_evaluator.pipeline.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from prompt_evaluator.errors import PromptEvaluatorError
    from prompt_evaluator.model import Generation, Judgement, RunRecord, RunStatus, Unit
    from prompt_evaluator.model.result import CaseResult, RunResult
    from prompt_evaluator.model.work import ItemEnd, StopCause, WorkItem
    from prompt_evaluator.pipeline.case_work import CaseWork
    from prompt_evaluator.pipeline.events import Events
    from prompt_evaluator.pipeline.execute import Executor
    from prompt_evaluator.ports import Engine, UnitSink
    from prompt_evaluator.store import LedgerWriter, Store
    from prompt_evaluator.store.ownership import Held
    from prompt_evaluator.store.run_files import RunFiles

_BRIEFLY = 5.0
_EVERY = 2.0
"""Seconds between progress updates. The first one also writes the main file."""
_SHARE = 0.01
"""The main file is written again once the last write took only this share of the time since. Each write takes longer
than the one before, so all of them together stay below twice this share."""

_ASLEEP = "This process was stopped, or cut off from the store, for so long that another one may have taken its run."


class Driver:
    """Drives one run. An engine reports finished work to it."""

    def __init__(  # noqa: PLR0913 - the parts of a run, put together in one place
        self,
        record: RunRecord,
        *,
        store: Store,
        engine: Engine,
        events: Events,
        make_files: Callable[[], RunFiles],
        make_executor: Callable[[UnitSink], Executor],
        make_ledger: Callable[[], LedgerWriter],
        now: Callable[[], str],
        on_stop: Callable[[], None] = lambda: None,
        throttled: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Store the parts; nothing is started.

        Args:
            record: The run.
            store: Holds its cases and units.
            engine: Runs its samples.
            events: Notified of everything that happens.
            make_files: Opens the files that results are exported to.
            make_executor: Makes the executor, which puts its preparations into the given sink.
            make_ledger: Opens the ledger for finished units.
            now: Returns the current time as text.
            on_stop: Called when no new work may start.
            throttled: Returns the share of the calls' time for which a limit held them back.
        """
        self._record, self._plan = record, record.plan
        self._store, self._engine, self.events = store, engine, events
        self._make_files, self._make_executor, self._make_ledger = make_files, make_executor, make_ledger
        self._now, self._on_stop, self._throttled = now, on_stop, throttled
        self._totals, self._assembler = Totals(self._plan), Assembler(self._plan)
        self._counts = Counts(self._plan)
        self._over = asyncio.Event()
        self._in_progress: dict[str, CaseWork] = {}
        self._has_judges = bool(self._plan.judge or self._plan.judges)
        self._judges: dict[str, str] = {}
        """Judge model of each score."""
        self._known = self._saved = 0
        """Cases that had results before, and cases counted and exported so far."""
        self._preparing: asyncio.Task[None] | None = None
        self._stop_reason: str | None = None
        self._stopped_by: PromptEvaluatorError | None = None
        self._is_lost = False
        self._lease: Held
        self._files: RunFiles
        self._ledger: LedgerWriter
        self._executor: Executor
        self._loader: Loader
        self._feed: Feed[WorkItem]

    def stop(self, reason: str, *, drain_seconds: float | None = _BRIEFLY) -> None:
        """End the run early, so that it can be resumed.

        Samples in progress get this many seconds to finish, or as long as they need if None.
        """
        self._stop_reason = self._stop_reason or reason
        self._on_stop()
        self._engine.stop(drain_seconds)
        if self._preparing is not None and drain_seconds is not None:
            asyncio.get_running_loop().call_later(drain_seconds, self._preparing.cancel)

    async def carry_out(self) -> Outcome:
        """Run all unfinished samples, then write the artifacts."""
        status: RunStatus = "aborted"
        async with AsyncExitStack() as stack:
            self._lease = await self._owned(stack)
            self._files = stack.enter_context(closing(await asyncio.to_thread(self._make_files)))
            try:
                await asyncio.to_thread(self._begin)
                await self._work()
                outcome = await asyncio.to_thread(self._conclude)
                status = outcome.record.status
                return outcome
            finally:
                self.events.tell(RunEnded, status=status, stop_reason=self._stop_reason)

    async def _owned(self, stack: AsyncExitStack) -> Held:
        """Take the run, in a thread, because the server may first have to end an earlier owner's transaction."""
        loop = asyncio.get_running_loop()

        def on_lost(error: OwnershipLostError) -> None:
            with suppress(RuntimeError):  # the loop is closed, so the run is over
                loop.call_soon_threadsafe(self._lose, error)

        owning = self._store.own(self._plan.run_id, on_lost)
        entering = asyncio.create_task(asyncio.to_thread(stack.enter_context, owning))
        try:
            return await asyncio.shield(entering)
        finally:
            await asyncio.wait({entering})  # if cancelled meanwhile, the run must be released, too

    def _lose(self, error: OwnershipLostError) -> None:
        """Stop. Until another process takes the run, what calls in flight return is still stored."""
        if not self._is_lost:
            self._is_lost = True
            self._stopped_by = self._stopped_by or error
            self.stop(str(error))

    def _begin(self) -> None:
        run_id, store = self._plan.run_id, self._store
        store.start_run(run_id, self._record.started_at)
        self._known = store.known_cases(run_id)
        if self._caught_up:
            self._files.index(self._record, None)
            self._files.write(self._record, None)

    async def _work(self) -> None:
        self.events.tell(RunStarted, record=self._record, samples=self._counts.samples)
        try:
            async with AsyncExitStack() as stack:
                self._ledger = self._make_ledger()
                stack.push_async_callback(asyncio.to_thread, self._ledger.close)
                self._executor = self._make_executor(self)
                self._loader = Loader(self._store, self._executor)
                self._feed = Feed(self._next_batch)
                reporting = asyncio.create_task(self._report())
                stack.push_async_callback(self._end_report, reporting)
                try:
                    if await self._prepared():
                        await self._engine.run(self._feed, self._executor.worker, self)
                except (ProviderError, BudgetSpentError, EngineError) as error:
                    self._failed(error)
                finally:
                    await self._feed.close()
                await self._keep_unfinished()
        except StoreError as error:
            self._failed(error)

    async def _prepared(self) -> bool:
        """Prepare the metrics. Return False if a stop cut this short; it waits as long as for samples in progress."""
        self._preparing = asyncio.create_task(self._executor.prepare())
        try:
            await asyncio.wait({self._preparing})
        finally:
            self._preparing.cancel()
        return not self._preparing.cancelled() and self._preparing.result() is None

    def _failed(self, error: PromptEvaluatorError) -> None:
        self._stop_reason, self._stopped_by = str(error), error

    # Called by the engine.

    def began(self, case_id: str, sample: int) -> None:
        self.events.tell(SampleStarted, case_id=case_id, sample=sample)

    def put(self, unit: Unit, done: Generation | Judgement | None = None) -> None:
        self._ledger.put(unit)
        if work := self._in_progress.get(unit.case_id):
            work.add(unit, done)

    def wait_for_capacity(self) -> Awaitable[None]:
        if not self._lease.is_held:  # before the next call is paid for: a process that wakes up sees it here first
            self._lose(OwnershipLostError(f"{_ASLEEP} Resume run {self._plan.run_id}, unless another process has it."))
            raise StoppedError("The run may be another process's by now: this call was not sent.")  # no judge's either
        return self._ledger.wait_for_capacity()

    def stored(self) -> Awaitable[None]:
        return self._ledger.flush()

    async def ended(self, end: ItemEnd) -> None:
        work = self._in_progress[end.case_id]
        self._totals.add_stopped(end.time_outs, end.cost)
        if end.state == "stopped":
            self._stopped(end.cause)
        elif end.state in {"answered", "lost"}:
            self._feed.again(work.item(end.sample))
        else:
            status = work.finish(end.sample)
            self._counts.sample_done(status)
            self.events.tell(SampleDone, case_id=end.case_id, sample=end.sample, status=status)
            if work.is_finished:
                await self._case_done(work)

    def _stopped(self, cause: StopCause | None) -> None:
        """Stop if no further call can or may be made. Calls in flight are paid for, so their results are awaited."""
        if cause is not None:
            self._stopped_by = self._stopped_by or cause.error()
            self.stop(cause.message, drain_seconds=None)

    async def _next_batch(self) -> Sequence[WorkItem] | None:
        loaded = await asyncio.to_thread(self._loader.next)
        if not loaded:
            return None
        batch: list[WorkItem] = []
        for work, linked in loaded:
            work.linked = linked
            self._in_progress[work.case.id] = work
            for sample, status in work.found:
                self._counts.sample_found(status)
                self.events.tell(SampleDone, case_id=work.case.id, sample=sample, status=status)
            if work.is_finished:
                await self._case_done(work)
            else:
                batch += work.items()
        return batch

    async def _case_done(self, work: CaseWork) -> None:
        result = self._result(work)
        await self._ledger.wait_for_capacity()
        self._counts.case_done(result)
        await self._keep(work, result)
        self.events.tell(CaseDone, result=result)

    async def _keep(self, work: CaseWork, result: CaseResult) -> None:
        """Count and store a case. If cancelled, it is either counted or still in progress, and counted at the end."""
        self._in_progress.pop(work.case.id, None)
        self._totals.add(work.position, result)
        self._ledger.put_case(work.position, result, self._judges)
        self._saved += 1
        if self._lease.is_held:  # otherwise the files may be another process's by now
            await self._files.save(work.position, result)

    @property
    def _caught_up(self) -> bool:
        """Whether a resumed run has counted all results it had before; until then, the stored totals are better."""
        return self._saved >= self._known

    def _result(self, work: CaseWork) -> CaseResult:
        if self._has_judges and (work.case.checks or not self._judges):
            self._judges |= self._executor.uses.judges(work.case)
        return self._assembler.case(work.case, work.samples(), self._executor.requests.shown(work.case))

    async def _keep_unfinished(self) -> None:
        """Count unfinished cases, and cases with results that a resumed run has not reached again."""
        left = list(self._in_progress.values())
        more = bool(self._known)
        while left or more:
            for work in left:
                if work.is_finished:
                    await self._case_done(work)
                elif not work.is_untouched:
                    await self._ledger.wait_for_capacity()
                    await self._keep(work, self._result(work))
            left = [each.work for each in await asyncio.to_thread(self._loader.next)] if more else []
            more = bool(left)

    async def _report(self) -> None:
        """Update progress in the store and the main file until the run is over."""
        due = time.monotonic()
        while not await _set_within(self._over, _EVERY):
            result = self._totals.result("running") if self._caught_up else None
            with suppress(StoreError):  # progress only; the ledger and the lease report what is wrong
                if requested := await asyncio.to_thread(self._save_progress, result):
                    self.stop(requested)
                began = time.monotonic()
                if result and began >= due and self._lease.is_held:
                    await asyncio.to_thread(self._files.write, self._record, result)
                    due = time.monotonic() + (time.monotonic() - began) / _SHARE

    async def _end_report(self, reporting: asyncio.Task[None]) -> None:
        self._over.set()
        await reporting  # two threads must not write the same file

    def _save_progress(self, result: RunResult | None) -> str | None:
        """Return why the run is to stop, if another process requested it."""
        progress = self._counts.progress(self.events.sequence, self._now(), result, self._throttled())
        return self._store.save_progress(self._plan.run_id, progress, result)

    def _conclude(self) -> Outcome:
        """Write the results, the status last: a run killed before that is resumed and writes them again."""
        store, totals, run_id = self._store, self._totals, self._plan.run_id
        prepared = preparations(store, run_id)
        totals.add_prepared(prepared)
        stopped_by = self._stopped_by
        status: RunStatus = "aborted" if totals.pending or stopped_by else totals.status()
        ended = None if status == "aborted" else self._record.ended_at or self._now()
        self._stop_reason = (self._stop_reason or "interrupted") if status == "aborted" else None
        record = msgspec.structs.replace(self._record, status=status, ended_at=ended, stop_reason=self._stop_reason)
        record, result = self._described(record), totals.result(status)
        exports = self._caught_up and self._lease.is_held
        if self._caught_up:
            self._save_progress(result)
        if exports:
            self._files.write(record, result, prepared)
            self._files.index(record, result)
        summary = result if self._caught_up else None
        store.update_run(run_id, status=status, ended_at=ended, stop_reason=self._stop_reason, summary=summary)
        if (latest := self._described(record)) != record and exports:  # changed while the files were written
            self._files.write(latest, result, prepared)
            self._files.index(latest, result)
        return Outcome(latest, result, stopped_by)

    def _described(self, record: RunRecord) -> RunRecord:
        """Take tags and note from the store: somebody may have changed them since the run was started."""
        plan, found = record.plan, self._store.description(self._plan.run_id)
        if (plan.tags, plan.note) == found:
            return record
        return msgspec.structs.replace(record, plan=msgspec.structs.replace(plan, tags=found.tags, note=found.note))


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
