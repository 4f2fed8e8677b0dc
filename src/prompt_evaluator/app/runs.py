"""Carrying out a plan: the part that new, resumed and re-scored runs have in common."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from prompt_evaluator.app.outcomes import BATCH, case_ids, export, now
from prompt_evaluator.app.run_parts import make_preparer, make_scorer, make_uses
from prompt_evaluator.engines.local import Feed, LocalEngine
from prompt_evaluator.errors import (
    BudgetSpentError,
    CircuitOpenError,
    ConfigurationError,
    PromptEvaluatorError,
    ProviderError,
    StoreError,
)
from prompt_evaluator.pipeline.assemble import case_result
from prompt_evaluator.pipeline.execute import Executor, Finished
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.samples import SampleUnits
from prompt_evaluator.pipeline.uses import expected_keys
from prompt_evaluator.store.artifacts import CaseFiles, RunFolder, update_index
from prompt_evaluator.store.case_saver import CaseSaver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_evaluator.app.models import Models
    from prompt_evaluator.app.outcomes import Outcome
    from prompt_evaluator.model import RunRecord, SampleStatus, TestCase, Unit
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.ports import Ledger
    from prompt_evaluator.store import Store, StoredCase

_BRIEFLY = 5.0


class Watcher(Protocol):
    """Whoever wants to see a run go on."""

    def started(self, record: RunRecord, *, samples: int, done: int) -> None: ...

    def sample_started(self, case_id: str, sample: int) -> None: ...

    def sample_done(self, status: SampleStatus) -> None: ...

    def case_done(self, result: CaseResult) -> None: ...

    def ended(self) -> None: ...


class Unwatched:
    """Nobody is looking."""

    def started(self, record: RunRecord, *, samples: int, done: int) -> None: ...

    def sample_started(self, case_id: str, sample: int) -> None: ...

    def sample_done(self, status: SampleStatus) -> None: ...

    def case_done(self, result: CaseResult) -> None: ...

    def ended(self) -> None: ...


class _NoLedger:
    """For asking what units are called: nothing is done, so there is nothing to keep."""

    def put(self, unit: Unit) -> None: ...

    async def wait_for_capacity(self) -> None: ...


@dataclass(slots=True)
class _Work:
    """One case under way."""

    case: TestCase
    finished: Finished
    samples: list[SampleUnits]
    left: int
    expected: list[str]
    """The metrics by which every answer is judged."""


class Run:
    """One run being worked on by this process."""

    def __init__(
        self,
        store: Store,
        record: RunRecord,
        models: Models,
        *,
        watcher: Watcher | None = None,
        on_commit: Callable[[float], None] | None = None,
    ) -> None:
        self._store, self._record, self._models, self._on_commit = store, record, models, on_commit
        self._watcher: Watcher = watcher or Unwatched()
        self._plan = record.plan
        self._requests = RequestBuilder(self._plan.target, models.name(self._plan.target.model).model)
        self._folder = RunFolder(record)
        self._engine = LocalEngine(self._workers())
        self._stop_reason: str | None = None
        self._stopped_by: PromptEvaluatorError | None = None
        self._position = 0

    def stop(self, reason: str, *, drain_seconds: float | None = _BRIEFLY) -> None:
        """End the run soon, so that it can be resumed."""
        self._stop_reason = self._stop_reason or reason
        self._engine.stop(drain_seconds)

    def refuse_other_questions(self) -> None:
        """Raise `ConfigurationError` when this version asks in another way than the one that began the run.

        What is finished would not be found by its name then, and all of it would be paid for again.
        """
        stored = self._store.cases(self._plan.run_id, limit=BATCH)
        units = self._store.units(self._plan.run_id, [item.case.id for item in stored])
        executor = self._executor(_NoLedger(), retry_errors=False, generate=False)
        for item in stored:
            answers = executor.answer_names(item.case)
            known = [(answers[unit.name], unit) for unit in units[item.case.id] if unit.name in answers]
            expected = {*answers, *executor.judgement_names(item.case, known)}
            found = {unit.name for unit in units[item.case.id] if unit.kind in ("generation", "judgement") and unit.ok}
            if other := found - expected:
                if not other & {unit.name for unit in units[item.case.id] if unit.kind == "generation"}:
                    raise ConfigurationError(
                        f"The metrics of run {self._plan.run_id} have changed since it was started, in their code or "
                        "in the way this version asks: what is scored would be scored again. Restore them, or start a "
                        "new run with --reuse."
                    )
                raise ConfigurationError(
                    f"Run {self._plan.run_id} was begun by another version of prompt-evaluator, which asked in another "
                    "way: what is paid for would be paid for again. Finish it with that version, or start a new run."
                )
            if found:
                return

    async def carry_out(self, *, retry_errors: bool = False, source: str | None = None) -> Outcome:
        """Do what is missing, then write the artifacts.

        Args:
            retry_errors: Whether to do again what failed before.
            source: The run whose answers are judged; then none is generated.
        """
        plan = self._plan
        with self._store.own(plan.run_id):
            self._store.update_run(plan.run_id, status="running")
            self._folder.create()
            update_index(self._record, None)
            try:
                stopped_by = await self._work(retry_errors=retry_errors, source=source)
                return await asyncio.to_thread(self._conclude, stopped_by)
            finally:
                self._watcher.ended()

    async def _work(self, *, retry_errors: bool, source: str | None) -> PromptEvaluatorError | None:
        total = self._plan.dataset.selected * self._plan.num_samples
        self._watcher.started(self._record, samples=total, done=0)
        try:
            async with AsyncExitStack() as closing:
                saver = CaseSaver(self._folder, CaseFiles(case_ids(self._store, self._plan.run_id)))
                closing.push_async_callback(asyncio.to_thread, saver.close)
                writer = self._store.writer(
                    self._plan.run_id, flush_at=max(1, self._models.max_concurrency // 2), on_commit=self._on_commit
                )
                closing.push_async_callback(asyncio.to_thread, writer.close)
                executor = self._executor(writer, retry_errors=retry_errors, generate=source is None)
                await executor.prepare()
                feed = Feed(lambda: self._next_batch(executor, source))
                await self._engine.run(feed, lambda item: self._one(executor, saver, *item))
        except (StoreError, ProviderError, BudgetSpentError) as error:
            self._stop_reason = str(error)
            return error
        return self._stopped_by

    async def _one(self, executor: Executor, saver: CaseSaver, work: _Work, sample: int) -> None:
        self._watcher.sample_started(work.case.id, sample)
        try:
            units = await executor.run(work.case, sample, work.finished)
        except (BudgetSpentError, CircuitOpenError) as error:
            # No further call can or may be made. What is under way was paid for, so it is waited for and kept.
            self._stopped_by = self._stopped_by or error
            self.stop(str(error), drain_seconds=None)
            return
        work.samples[sample] = units
        work.left -= 1
        self._watcher.sample_done(units.status(work.expected))
        if not work.left:
            result = case_result(work.case, work.samples, self._plan, self._requests.shown(work.case))
            await saver.save(result)
            self._watcher.case_done(result)

    async def _next_batch(self, executor: Executor, source: str | None) -> Sequence[tuple[_Work, int]] | None:
        stored, found = await asyncio.to_thread(self._load, executor, source)
        if not stored:
            return None
        samples = self._plan.num_samples
        batch = []
        for item, finished in zip(stored, found, strict=True):
            empty = [SampleUnits() for _ in range(samples)]
            work = _Work(item.case, finished, empty, samples, expected_keys(self._plan, item.case))
            batch += [(work, sample) for sample in range(samples)]
        return batch

    def _load(self, executor: Executor, source: str | None) -> tuple[list[StoredCase], list[Finished]]:
        run_id = self._plan.run_id
        stored = self._store.cases(run_id, start=self._position, limit=BATCH)
        if not stored:
            return [], []
        self._position = stored[-1].position + 1
        ids = [item.case.id for item in stored]
        own = self._store.units(run_id, ids)
        if source is not None:
            linked = {case_id: _answers(units) for case_id, units in self._store.units(source, ids).items()}
        elif self._plan.reuse:
            linked = self._reusable(executor, [item.case for item in stored])
        else:
            linked = {}
        return stored, [Finished(_by_name(own.get(case_id, [])), linked.get(case_id, {})) for case_id in ids]

    def _reusable(self, executor: Executor, cases: list[TestCase]) -> dict[str, dict[bytes, Unit]]:
        """Finished units of earlier runs that ask the same: answers first, then judgements of those answers."""
        answers = {case.id: executor.answer_names(case) for case in cases}
        found = self._store.finished([name for each in answers.values() for name in each])
        names: dict[str, list[bytes]] = {}
        for case in cases:
            known = [(place, found[name]) for name, place in answers[case.id].items() if name in found]
            names[case.id] = [*answers[case.id], *executor.judgement_names(case, known)]
        found |= self._store.finished([name for each in names.values() for name in each if name not in found])
        return {case.id: {name: found[name] for name in names[case.id] if name in found} for case in cases}

    def _executor(self, ledger: Ledger, *, retry_errors: bool, generate: bool) -> Executor:
        generator = self._models.name(self._plan.target.model)
        return Executor(
            self._plan,
            requests=self._requests,
            generator=self._models.client(generator.provider) if generate else None,
            uses=make_uses(self._plan),
            scorer=make_scorer(self._models),
            preparer=make_preparer(self._plan, self._models, self._store, ledger),
            ledger=ledger,
            now=now,
            retry_errors=retry_errors,
        )

    def _workers(self) -> int:
        """As many as calls may be in flight, twice that where generator and judge do not share a budget."""
        cap, plan = self._models.max_concurrency, self._plan
        judges = [*([plan.judge] if plan.judge else ()), *plan.judges.values()]
        return cap * 2 if any(judge.identity != plan.target.identity for judge in judges) else cap

    def _conclude(self, stopped_by: PromptEvaluatorError | None) -> Outcome:
        outcome = export(self._store, self._record, stop_reason=self._stop_reason, stopped_by=stopped_by)
        record = outcome.record
        self._store.update_run(
            self._plan.run_id, status=record.status, ended_at=record.ended_at, stop_reason=record.stop_reason
        )
        return outcome


def _by_name(units: Iterable[Unit]) -> dict[bytes, Unit]:
    return {unit.name: unit for unit in units}


def _answers(units: Iterable[Unit]) -> dict[bytes, Unit]:
    return _by_name(unit for unit in units if unit.kind == "generation")
