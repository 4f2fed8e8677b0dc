"""Rebuilds the outcome of a run from its units alone: results, statistics, rows and files."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.metrics.catalogue import build_metric
from prompt_evaluator.model.outcome import Outcome
from prompt_evaluator.pipeline.assemble import Assembler
from prompt_evaluator.pipeline.loading import BATCH
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.preparing import preparations
from prompt_evaluator.pipeline.samples import group
from prompt_evaluator.pipeline.totals import Totals
from prompt_evaluator.store.run_edits import describe_files
from prompt_evaluator.store.run_files import RunFiles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.model import MetricUse, RunPlan, RunRecord, TestCase
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.store import Store, StoredCase


def rebuild(store: Store, record: RunRecord) -> Outcome:
    """Rebuild everything derived from the units of a run: rows, statistics and files."""
    run_id = record.plan.run_id
    with store.own(run_id):
        record = store.run(run_id)  # its tags and note may have changed
        prepared = preparations(store, run_id)
        totals, judges = Totals(record.plan, prepared), _ScoreJudges(record.plan)

        def begun() -> Iterator[tuple[int, CaseResult]]:
            for position, case, result in _assembled(store, record, begun=True):
                judges.add(case)
                totals.add(position, result)
                files.save_now(position, result)
                yield position, result

        with closing(RunFiles(record, lambda: store.case_ids(run_id))) as files:
            store.replace_results(run_id, begun(), lambda: totals.result(record.status), judges=judges.models)
            ended = _ended(record, totals)
            result = totals.result(ended.status)
            files.write(ended, result, prepared)
            files.index(ended, result)
        store.update_run(
            run_id, status=ended.status, ended_at=ended.ended_at, stop_reason=ended.stop_reason, summary=result
        )
        if (latest := store.run(run_id)).plan != record.plan:  # described anew while the files were written
            describe_files(latest, result)
    return Outcome(ended, result)


def begun_totals(store: Store, record: RunRecord) -> Totals:
    """Totals of all cases of a run with units. Writes nothing."""
    totals = Totals(record.plan, preparations(store, record.plan.run_id))
    for position, _, result in _assembled(store, record, begun=True):
        totals.add(position, result)
    return totals


def _ended(record: RunRecord, totals: Totals) -> RunRecord:
    """Update the status. A run that had already ended keeps its end time; otherwise it is now."""
    if record.status == "queued":
        return record
    if totals.pending:
        reason = record.stop_reason or "interrupted"
        return msgspec.structs.replace(record, status="aborted", ended_at=None, stop_reason=reason)
    ended = record.ended_at or now()
    return msgspec.structs.replace(record, status=totals.status(), ended_at=ended, stop_reason=None)


def results(store: Store, record: RunRecord) -> Iterator[CaseResult]:
    """Results of all cases in file order, read in batches."""
    return (result for _, _, result in _assembled(store, record, begun=False))


def _assembled(store: Store, record: RunRecord, *, begun: bool) -> Iterator[tuple[int, TestCase, CaseResult]]:
    """Each case with its position; only cases with units if `begun`."""
    plan = record.plan
    requests, assembler = RequestBuilder(plan.target, plan.target.model), Assembler(plan)
    for batch in _batches(store, plan.run_id):
        units = store.units(plan.run_id, [stored.case.id for stored in batch])
        for position, case in batch:
            if units[case.id] or not begun:
                samples = group(units[case.id], plan.num_samples)
                yield position, case, assembler.case(case, samples, requests.shown(case))


def stored_cases(store: Store, run_id: str) -> Iterator[StoredCase]:
    for batch in _batches(store, run_id):
        yield from batch


def _batches(store: Store, run_id: str) -> Iterator[list[StoredCase]]:
    start = 0
    while batch := store.cases(run_id, start=start, limit=BATCH):
        yield batch
        start = batch[-1].position + 1


class _ScoreJudges:
    """The judge of each score in a run, from its plan and from the checks of single cases."""

    def __init__(self, plan: RunPlan) -> None:
        self._plan = plan
        self.models: dict[str, str] = {}
        """Maps score name to judge model. Grows as cases are added."""
        self._seen: set[str] = set()
        if plan.rubric and plan.judge:
            self.models |= dict.fromkeys((criterion.name for criterion in plan.rubric.metrics), plan.judge.model)
        self._add(plan.metrics)

    def add(self, case: TestCase) -> None:
        """Add the judges of a case's own checks."""
        if case.checks:
            self._add(self._plan.uses_for(case))

    def _add(self, uses: Sequence[MetricUse]) -> None:
        for use in uses:
            if use.key not in self._seen:
                self._seen.add(use.key)
                if model := self._judge(use):
                    self.models[use.key] = model

    def _judge(self, use: MetricUse) -> str | None:
        if use.judge is not None:
            named = self._plan.judges.get(use.judge)
            return named.model if named else use.judge
        return self._plan.judge.model if self._plan.judge and _needs_judge(use) else None


def _needs_judge(use: MetricUse) -> bool:
    if use.metric.startswith(("python:", "command:")):
        return False  # user code does not use a judge, and may no longer exist
    try:
        return build_metric(use).needs_judge
    except PromptEvaluatorError:
        return False
