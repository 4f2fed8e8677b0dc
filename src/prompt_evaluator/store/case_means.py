"""Reads the cases of several runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, exists, select

from prompt_evaluator.model.query import CaseMeans, RunCase
from prompt_evaluator.store.case_lines import read_metrics
from prompt_evaluator.store.result_tables import CASE_RESULTS
from prompt_evaluator.store.schema import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Row, Select

_CASES_AT_ONCE = 256
_SAME_CASE = and_(CASE_RESULTS.c.run_id == CASES.c.run_id, CASE_RESULTS.c.position == CASES.c.position)
_CASE = select(CASES.c.position, CASES.c.case_id, CASES.c.content_hash, CASE_RESULTS.c.status).outerjoin_from(
    CASES, CASE_RESULTS, _SAME_CASE
)


def read_case_means(
    connection: Connection, run_ids: Sequence[str], metrics: Sequence[str] | None
) -> Iterator[CaseMeans]:
    """Yield every case of the first run in file order, then those new in the second, and so on."""
    for at, run_id in enumerate(run_ids):
        others = run_ids[at + 1 :]
        for batch in _batches(connection, _new_in(run_id, run_ids[:at])):
            ids = [row.case_id for row in batch]
            found = {run_id: _run_cases(connection, run_id, batch, metrics)}
            for other in others:
                same = connection.execute(_CASE.where(CASES.c.run_id == other, CASES.c.case_id.in_(ids))).all()
                found[other] = _run_cases(connection, other, same, metrics)
            for case_id in ids:
                runs = {run: cases[case_id] for run, cases in found.items() if case_id in cases}
                yield CaseMeans(case_id=case_id, runs=runs)


def _new_in(run_id: str, before: Sequence[str]) -> Select[tuple[int, str, str | None, str | None]]:
    """Select the cases of a run that none of the runs before it has."""
    wanted = _CASE.where(CASES.c.run_id == run_id).order_by(CASES.c.position)
    if before:
        earlier = CASES.alias()
        same = (earlier.c.run_id.in_(before), earlier.c.case_id == CASES.c.case_id)
        wanted = wanted.where(~exists(select(earlier.c.position).where(*same).correlate(CASES)))
    return wanted


def _batches(
    connection: Connection, wanted: Select[tuple[int, str, str | None, str | None]]
) -> Iterator[list[Row[Any]]]:
    start = 0
    while rows := connection.execute(wanted.where(CASES.c.position >= start).limit(_CASES_AT_ONCE)).all():
        yield list(rows)
        start = rows[-1].position + 1


def _run_cases(
    connection: Connection, run_id: str, rows: Sequence[Any], metrics: Sequence[str] | None
) -> dict[str, RunCase]:
    found = read_metrics(connection, run_id, [row.position for row in rows], metrics)
    return {
        row.case_id: RunCase(
            content_hash=row.content_hash, status=row.status or "pending", metrics=found.get(row.position, {})
        )
        for row in rows
    }
