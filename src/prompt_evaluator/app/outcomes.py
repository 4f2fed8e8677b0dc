"""What a run comes to, from the store alone: results, statistics, and the files that show them."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.run_parts import preparations
from prompt_evaluator.pipeline.assemble import case_result
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.samples import group
from prompt_evaluator.pipeline.totals import Totals
from prompt_evaluator.store.artifacts import CaseFiles, RunFolder, update_index

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.errors import PromptEvaluatorError
    from prompt_evaluator.model import RunPlan, RunRecord, RunStatus
    from prompt_evaluator.model.result import CaseResult, RunResult
    from prompt_evaluator.store import Store, StoredCase

BATCH = 128
"""Cases that are read from the store at a time."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    record: RunRecord
    result: RunResult | None
    """None for a run that had ended before: its artifact has it."""
    stopped_by: PromptEvaluatorError | None = None
    """What ended it early, if something went wrong."""

    @property
    def main_file(self) -> Path:
        """The run's main artifact."""
        return RunFolder(self.record).main_file


def export(
    store: Store,
    record: RunRecord,
    *,
    stop_reason: str | None = None,
    stopped_by: PromptEvaluatorError | None = None,
) -> Outcome:
    """Write a run's main artifact and its index entry from what is in the store.

    A run that had ended before keeps its end; one that ends now is given this moment.
    """
    totals = _totals(store, record.plan)
    folder = RunFolder(record)
    writer = folder.main_writer()
    try:
        for case in results(store, record):
            totals.add(case)
            writer.add(case)
        status: RunStatus = "aborted" if totals.pending or stopped_by else totals.status()
        ended = None if status == "aborted" else record.ended_at or now()
        reason = (stop_reason or "interrupted") if status == "aborted" else None
        record = msgspec.structs.replace(record, status=status, ended_at=ended, stop_reason=reason)
        result = totals.result(status)
        writer.finish(result, record, preparations(store, record.plan.run_id))
    finally:
        writer.discard()
    update_index(record, result)
    return Outcome(record, result, stopped_by)


def summarise(store: Store, record: RunRecord) -> Outcome:
    """What a run comes to, from the store alone; nothing is written."""
    totals = _totals(store, record.plan)
    for case in results(store, record):
        totals.add(case)
    return Outcome(record, totals.result(record.status))


def _totals(store: Store, plan: RunPlan) -> Totals:
    totals = Totals(plan)
    for made in preparations(store, plan.run_id):
        totals.add_replies(made.replies)
    return totals


def rebuild(store: Store, record: RunRecord) -> Outcome:
    """Write all files of a run that has ended, as they were."""
    folder, files = RunFolder(record), CaseFiles(case_ids(store, record.plan.run_id))
    with store.own(record.plan.run_id):
        folder.make()
        for case in results(store, record):
            if case.status != "pending":
                folder.write_case(files.name(case.test_case_id), case)
        return export(store, record, stop_reason=record.stop_reason)


def results(store: Store, record: RunRecord) -> Iterator[CaseResult]:
    """The results of every case, in file order, a batch at a time."""
    plan = record.plan
    requests = RequestBuilder(plan.target, plan.target.model)
    for batch in _batches(store, plan.run_id):
        units = store.units(plan.run_id, [stored.case.id for stored in batch])
        for stored in batch:
            samples = group(units.get(stored.case.id, []), plan.num_samples)
            yield case_result(stored.case, samples, plan, requests.shown(stored.case))


def stored_cases(store: Store, run_id: str) -> Iterator[StoredCase]:
    for batch in _batches(store, run_id):
        yield from batch


def _batches(store: Store, run_id: str) -> Iterator[list[StoredCase]]:
    start = 0
    while batch := store.cases(run_id, start=start, limit=BATCH):
        yield batch
        start = batch[-1].position + 1


def now() -> str:
    """This moment as the artifacts write it."""
    seconds, milliseconds = divmod(time.time_ns() // 1_000_000, 1_000)
    return f"{_to_the_second(seconds)}.{milliseconds:03d}Z"


@functools.lru_cache(maxsize=2)
def _to_the_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def case_ids(store: Store, run_id: str) -> Iterator[str]:
    return (stored.case.id for stored in stored_cases(store, run_id))
