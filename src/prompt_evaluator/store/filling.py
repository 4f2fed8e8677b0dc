"""Fills in columns and result rows for runs of older versions, one batch of cases at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec
from sqlalchemy import bindparam, select, update

from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.model import RunRecord, TestCase
from prompt_evaluator.model.run import RunPlan
from prompt_evaluator.store.result_rows import FinishedCase, add_cases
from prompt_evaluator.store.run_rows import case_columns, plan_columns, summary_columns
from prompt_evaluator.store.schema import CASES, RUNS
from prompt_evaluator.store.unit_rows import read_units

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from prompt_evaluator.ports import Fill

_BATCH = 128
_UNREADABLE = (msgspec.MsgspecError, PromptEvaluatorError, ValueError, LookupError, ImportError)
"""Raised for a plan of another version or a missing plug-in."""
_COLUMNS = ("content_hash", "file", "line", "input", "metadata")
_SET_CASE = (
    update(CASES)
    .where(CASES.c.run_id == bindparam("in_run"), CASES.c.position == bindparam("at"))
    .values({name: bindparam(f"new_{name}") for name in _COLUMNS})
)
_plan = msgspec.json.Decoder(RunPlan).decode
_case = msgspec.json.Decoder(TestCase).decode


class Filled(NamedTuple):
    """What was filled in."""

    runs: int
    unreadable: tuple[str, ...]
    """Runs that were left as they are."""


def fill_runs(connection: Connection, fill: Fill | None) -> Filled:
    """Fill in all runs, skipping unreadable ones. Without `fill`, only columns are filled, not result rows."""
    run_ids = connection.scalars(select(RUNS.c.run_id)).all()
    unreadable: list[str] = []
    for run_id in run_ids:
        try:
            with connection.begin_nested():
                _fill_run(connection, run_id, fill)
        except _UNREADABLE:
            unreadable.append(run_id)
    return Filled(len(run_ids) - len(unreadable), tuple(unreadable))


def _fill_run(connection: Connection, run_id: str, fill: Fill | None) -> None:
    row = connection.execute(select(RUNS).where(RUNS.c.run_id == run_id)).one()
    plan = _plan(row.plan)
    values = plan_columns(plan)
    for batch in _batches(connection, run_id):
        _set_cases(connection, run_id, batch)
    if fill is not None:
        record = RunRecord(
            plan=plan,
            status=row.status,
            started_at=row.started_at,
            ended_at=row.ended_at,
            stop_reason=row.stop_reason,
        )
        filler = fill(record, read_units(connection, run_id, [""])[""])
        for batch in _batches(connection, run_id):
            cases = [case for _, case in batch]
            units = read_units(connection, run_id, [case.id for case in cases])
            results = filler.add(cases, units)
            placed = zip((position for position, _ in batch), results, strict=True)
            done = [FinishedCase(at, result, filler.judges) for at, result in placed if units[result.test_case_id]]
            add_cases(connection, run_id, done)
        values |= summary_columns(filler.result())
    connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(values))


def _batches(connection: Connection, run_id: str) -> Iterator[list[tuple[int, TestCase]]]:
    start = 0
    wanted = select(CASES.c.position, CASES.c.data).where(CASES.c.run_id == run_id).order_by(CASES.c.position)
    while rows := connection.execute(wanted.where(CASES.c.position >= start).limit(_BATCH)).all():
        yield [(position, _case(data)) for position, data in rows]
        start = rows[-1][0] + 1


def _set_cases(connection: Connection, run_id: str, batch: Sequence[tuple[int, TestCase]]) -> None:
    names = [f"new_{name}" for name in _COLUMNS]
    connection.execute(
        _SET_CASE,
        [
            {"in_run": run_id, "at": position, **dict(zip(names, case_columns(case), strict=True))}
            for position, case in batch
        ],
    )
