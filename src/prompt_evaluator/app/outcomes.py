"""What a run comes to, made again from its units alone: results, statistics, rows, and the files that show them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.model.outcome import Outcome
from prompt_evaluator.pipeline.assemble import case_result
from prompt_evaluator.pipeline.loading import BATCH
from prompt_evaluator.pipeline.messages import RequestBuilder
from prompt_evaluator.pipeline.preparing import preparations
from prompt_evaluator.pipeline.samples import group
from prompt_evaluator.pipeline.totals import Totals
from prompt_evaluator.store.run_files import RunFiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model import RunRecord, RunStatus
    from prompt_evaluator.model.result import CaseResult
    from prompt_evaluator.store import Store, StoredCase


def rebuild(store: Store, record: RunRecord) -> Outcome:
    """Make everything anew that is derived from the units of a run: its rows, its statistics and its files."""
    run_id = record.plan.run_id
    with store.own(run_id):
        totals, files = Totals(record.plan), RunFiles(record, lambda: store.case_ids(run_id))
        prepared = preparations(store, run_id)
        for made in prepared:
            totals.add_replies(made.replies)
        files.begin(record)
        try:
            store.replace_results(run_id, _begun(store, record, totals, files))
            status: RunStatus = "aborted" if totals.pending else totals.status()
            ended = None if status == "aborted" else record.ended_at or now()
            reason = (record.stop_reason or "interrupted") if status == "aborted" else None
            record = msgspec.structs.replace(record, status=status, ended_at=ended, stop_reason=reason)
            result = totals.result(status)
            store.update_run(run_id, status=status, ended_at=ended, stop_reason=reason, summary=result)
            files.write(record, result, prepared, store.case_ids(run_id))
            files.finish(record, result)
        finally:
            files.close()
    return Outcome(record, result)


def _begun(store: Store, record: RunRecord, totals: Totals, files: RunFiles) -> Iterator[tuple[int, CaseResult]]:
    """Every case of which anything is known, counted and written on the way."""
    for position, result, begun in _assembled(store, record):
        if begun:
            totals.add(position, result)
            files.save_now(position, result)
            yield position, result


def results(store: Store, record: RunRecord) -> Iterator[CaseResult]:
    """The results of every case, in file order, a batch at a time."""
    return (result for _, result, _ in _assembled(store, record))


def _assembled(store: Store, record: RunRecord) -> Iterator[tuple[int, CaseResult, bool]]:
    """Each case with its position, and whether there is any unit of it."""
    plan = record.plan
    requests = RequestBuilder(plan.target, plan.target.model)
    for batch in _batches(store, plan.run_id):
        units = store.units(plan.run_id, [stored.case.id for stored in batch])
        for position, case in batch:
            own = units[case.id]
            yield position, case_result(case, group(own, plan.num_samples), plan, requests.shown(case)), bool(own)


def stored_cases(store: Store, run_id: str) -> Iterator[StoredCase]:
    for batch in _batches(store, run_id):
        yield from batch


def _batches(store: Store, run_id: str) -> Iterator[list[StoredCase]]:
    start = 0
    while batch := store.cases(run_id, start=start, limit=BATCH):
        yield batch
        start = batch[-1].position + 1
