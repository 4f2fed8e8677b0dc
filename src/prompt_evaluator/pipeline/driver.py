"""Carrying out a run: what is missing goes to an engine; what comes back is kept, counted, shown and added up."""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack, closing, suppress
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import BudgetSpentError, CircuitOpenError, ProviderError, StoreError
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
    from prompt_evaluator.ports import Engine, Files, Ledger, Store, UnitSink

_BRIEFLY = 5.0
_EVERY = 2.0
"""Seconds between two looks at how far the run is; the main file is written with the first of them, and then ..."""
_SHARE = 0.01
"""... so rarely that the last time took this share of the time since: the larger the file, the rarer. Each time takes
longer than the last, so that all of them together stay below twice that."""


class Driver:
    """One run being worked on. An engine tells it what is finished."""

    def __init__(  # noqa: PLR0913 - the parts of a run, put together in one place
        self,
        record: RunRecord,
        *,
        store: Store,
        engine: Engine,
        events: Events,
        make_files: Callable[[], Files],
        make_executor: Callable[[UnitSink], Executor],
        make_ledger: Callable[[], Ledger],
        now: Callable[[], str],
        on_stop: Callable[[], None] = lambda: None,
    ) -> None:
        """Take a run and its parts.

        Args:
            record: The run.
            store: Where its cases and units are.
            engine: Where its samples are made.
            events: Who is told what happens.
            make_files: Opens what its results are exported to.
            make_executor: Makes what samples are made with; its preparations are kept in the given sink.
            make_ledger: Opens what keeps finished units.
            now: This moment as text.
            on_stop: Called when nothing new is to be begun.
        """
        self._record, self._plan = record, record.plan
        self._store, self._engine, self.events = store, engine, events
        self._make_files, self._make_executor, self._make_ledger = make_files, make_executor, make_ledger
        self._now, self._on_stop = now, on_stop
        self._totals, self._assembler = Totals(self._plan), Assembler(self._plan)
        self._counts = Counts(self._plan)
        self._over = asyncio.Event()
        self._under_way: dict[str, CaseWork] = {}
        self._has_judges = bool(self._plan.judge or self._plan.judges)
        self._judges: dict[str, str] = {}
        """By score, the model that gives it."""
        self._known = self._saved = 0
        """Cases of which something was known before, and those that are counted and in the files by now."""
        self._preparing: asyncio.Task[None] | None = None
        self._stop_reason: str | None = None
        self._stopped_by: PromptEvaluatorError | None = None
        self._files: Files
        self._ledger: Ledger
        self._executor: Executor
        self._loader: Loader
        self._feed: Feed[WorkItem]

    def stop(self, reason: str, *, drain_seconds: float | None = _BRIEFLY) -> None:
        """End the run soon, so that it can be resumed: what is under way is finished, for so long at most."""
        self._stop_reason = self._stop_reason or reason
        self._on_stop()
        self._engine.stop(drain_seconds)
        if self._preparing is not None and drain_seconds is not None:
            asyncio.get_running_loop().call_later(drain_seconds, self._preparing.cancel)

    async def carry_out(self) -> Outcome:
        """Do what is missing, then write the artifacts."""
        run_id = self._plan.run_id
        status: RunStatus = "aborted"
        with self._store.own(run_id), closing(await asyncio.to_thread(self._make_files)) as self._files:
            try:
                await asyncio.to_thread(self._begin)
                await self._work()
                outcome = await asyncio.to_thread(self._conclude)
                status = outcome.record.status
                return outcome
            finally:
                self.events.tell(RunEnded, status=status, stop_reason=self._stop_reason)

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
            async with AsyncExitStack() as at_the_end:
                at_the_end.push_async_callback(asyncio.to_thread, self._files.flush)
                self._ledger = self._make_ledger()
                at_the_end.push_async_callback(asyncio.to_thread, self._ledger.close)
                self._executor = self._make_executor(self)
                self._loader = Loader(self._store, self._executor)
                self._feed = Feed(self._next_batch)
                reporting = asyncio.create_task(self._report())
                at_the_end.push_async_callback(self._end_report, reporting)
                try:
                    if await self._prepared():
                        await self._engine.run(self._feed, self._executor.worker, self)
                except (ProviderError, BudgetSpentError) as error:
                    self._failed(error)
                finally:
                    await self._feed.close()
                await self._keep_what_is_left()
        except StoreError as error:
            self._failed(error)

    async def _prepared(self) -> bool:
        """Make metrics ready. A stop waits for that as long as for what is under way, and no longer."""
        self._preparing = asyncio.create_task(self._executor.prepare())
        try:
            await asyncio.wait({self._preparing})
        finally:
            self._preparing.cancel()
        return not self._preparing.cancelled() and self._preparing.result() is None

    def _failed(self, error: PromptEvaluatorError) -> None:
        self._stop_reason, self._stopped_by = str(error), error

    # What an engine tells.

    def began(self, case_id: str, sample: int) -> None:
        self.events.tell(SampleStarted, case_id=case_id, sample=sample)

    def put(self, unit: Unit, done: Generation | Judgement | None = None) -> None:
        self._ledger.put(unit)
        if work := self._under_way.get(unit.case_id):
            work.add(unit, done)

    def wait_for_capacity(self) -> Awaitable[None]:
        return self._ledger.wait_for_capacity()

    async def ended(self, end: ItemEnd) -> None:
        work = self._under_way[end.case_id]
        self._totals.add_time_outs(end.time_outs)
        if end.state == "stopped":
            self._stopped(end.cause)
        elif end.state == "answered":
            self._feed.again(work.item(end.sample))
        else:
            status = work.finish(end.sample)
            self._counts.sample_done(status)
            self.events.tell(SampleDone, case_id=end.case_id, sample=end.sample, status=status)
            if work.is_finished:
                await self._case_done(work)

    def _stopped(self, cause: StopCause | None) -> None:
        """No further call can or may be made. What is under way was paid for, so it is waited for and kept."""
        if cause is not None:
            self._stopped_by = self._stopped_by or _error(cause)
            self.stop(cause.message, drain_seconds=None)

    async def _next_batch(self) -> Sequence[WorkItem] | None:
        loaded = await asyncio.to_thread(self._loader.next)
        if not loaded:
            return None
        batch: list[WorkItem] = []
        for work, linked in loaded:
            work.linked = linked
            self._under_way[work.case.id] = work
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
        """Whoever is cancelled leaves a case either counted or among those under way, which are counted at the end."""
        self._under_way.pop(work.case.id, None)
        self._totals.add(work.position, result)
        self._ledger.put_case(work.position, result, self._judges)
        self._saved += 1
        await self._files.save(work.position, result)

    @property
    def _caught_up(self) -> bool:
        """Whether a resumed run has met all again that was known before: only then is its picture a better one."""
        return self._saved >= self._known

    def _result(self, work: CaseWork) -> CaseResult:
        if self._has_judges and (work.case.checks or not self._judges):
            self._judges |= self._executor.uses.judges(work.case)
        return self._assembler.case(work.case, work.samples(), self._executor.requests.shown(work.case))

    async def _keep_what_is_left(self) -> None:
        """Count what there is of cases that are not finished, and of those that a resumed run has not reached again."""
        left = list(self._under_way.values())
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
        """Show the run as it goes on to those who look into the store or into the main file."""
        due = time.monotonic()
        while not await _set_within(self._over, _EVERY):
            result = self._totals.result("running") if self._caught_up else None
            with suppress(StoreError):  # a picture only: what cannot be kept is said by those who keep it
                await asyncio.to_thread(self._save_progress, result)
                began = time.monotonic()
                if result and began >= due:
                    await asyncio.to_thread(self._files.write, self._record, result)
                    due = time.monotonic() + (time.monotonic() - began) / _SHARE

    async def _end_report(self, reporting: asyncio.Task[None]) -> None:
        self._over.set()
        await reporting  # two threads must not write the same file

    def _save_progress(self, result: RunResult | None) -> None:
        progress = self._counts.progress(self.events.sequence, self._now(), result)
        self._store.save_progress(self._plan.run_id, progress, result)

    def _conclude(self) -> Outcome:
        """Write down what the run comes to. Its status comes last: killed before, it is resumed and written again."""
        store, totals, run_id = self._store, self._totals, self._plan.run_id
        prepared = preparations(store, run_id)
        totals.add_prepared(prepared)
        stopped_by = self._stopped_by
        status: RunStatus = "aborted" if totals.pending or stopped_by else totals.status()
        ended = None if status == "aborted" else self._record.ended_at or self._now()
        self._stop_reason = (self._stop_reason or "interrupted") if status == "aborted" else None
        record = msgspec.structs.replace(self._record, status=status, ended_at=ended, stop_reason=self._stop_reason)
        result = totals.result(status)
        if self._caught_up:
            self._save_progress(result)
            self._files.write(record, result, prepared)
            self._files.index(record, result)
        summary = result if self._caught_up else None
        store.update_run(run_id, status=status, ended_at=ended, stop_reason=self._stop_reason, summary=summary)
        return Outcome(record, result, stopped_by)


async def _set_within(event: asyncio.Event, seconds: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def _error(cause: StopCause) -> PromptEvaluatorError:
    if cause.kind == BudgetSpentError.__name__:
        return BudgetSpentError(cause.message)
    return CircuitOpenError(cause.message.removeprefix(f"{cause.provider}: "), provider=cause.provider)
