"""Reads cases from their rows, for lists and detail views."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import Table, and_, func, select

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.query import CaseDetail, CaseFlag, CaseLine, CaseMetric, SampleLine, ScoreLine
from prompt_evaluator.store.result_tables import CASE_FLAGS, CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import StoredScore, read_judges, read_scores
from prompt_evaluator.store.schema import CASES
from prompt_evaluator.store.texts import hash_answer
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, RowMapping

_OF_CASE = [CASES.c[name] for name in ("position", "case_id", "content_hash", "file", "line", "input", "metadata")]
_OF_RESULT = [
    CASE_RESULTS.c[name]
    for name in (
        "status",
        "error_kinds",
        "error_message",
        "cost",
        "latency_ms",
        "flakiness",
        "flaky",
        "flagged",
        "failing",
        "started_at",
        "ended_at",
    )
]
_METRIC = [column for column in CASE_METRICS.c if column.name != "run_id"]
_SAMPLE = [SAMPLE_RESULTS.c[name] for name in (*SampleLine.__struct_fields__, "judges")]
_JSON: dict[str, Any] = {"flags": {}, "tool_calls": [], "earlier_attempts": []}
_NAMES_LOOKED_AT = 5_000


def read_case_lines(connection: Connection, run_id: str, positions: Sequence[int]) -> Iterator[CaseLine]:
    """Read these cases, in the order of `positions`."""
    for chunk in chunks(positions):
        metrics = _read_metrics(connection, run_id, chunk)
        flags: dict[int, dict[str, CaseFlag]] = {}
        for row in connection.execute(select(CASE_FLAGS).where(*_at(CASE_FLAGS, run_id, chunk))):
            flags.setdefault(row.position, {})[row.flag] = CaseFlag(raised=row.raised, asked=row.asked)
        result = and_(CASE_RESULTS.c.run_id == CASES.c.run_id, CASE_RESULTS.c.position == CASES.c.position)
        wanted = select(*_OF_CASE, *_OF_RESULT).outerjoin_from(CASES, CASE_RESULTS, result)
        rows = connection.execute(wanted.where(*_at(CASES, run_id, chunk))).mappings()
        lines = {
            row["position"]: _line(row, metrics.get(row["position"], {}), flags.get(row["position"], {}))
            for row in rows
        }
        yield from (lines[position] for position in chunk if position in lines)


def _read_metrics(connection: Connection, run_id: str, positions: Sequence[int]) -> dict[int, dict[str, CaseMetric]]:
    """Read metrics by position and name; cases without scores are absent."""
    found: dict[int, dict[str, CaseMetric]] = {}
    wanted = select(*_METRIC).where(*_at(CASE_METRICS, run_id, positions))
    for position, metric, mean, std, low, high, count, passes, missing, band, repeat_std in connection.execute(wanted):
        found.setdefault(position, {})[metric] = CaseMetric(
            mean=mean,
            std=std,
            min=low,
            max=high,
            count=count,
            passes=passes,
            missing=missing,
            variability=band,
            repeat_std=repeat_std,
        )
    return found


def read_case_detail(connection: Connection, run_id: str, case_id: str) -> CaseDetail:
    this = (CASES.c.run_id == run_id, CASES.c.case_id == case_id)
    position = connection.scalar(select(CASES.c.position).where(*this))
    if position is None:
        raise _unknown_case(connection, run_id, case_id)
    (line,) = read_case_lines(connection, run_id, [position])
    samples = select(*_SAMPLE).where(*_at(SAMPLE_RESULTS, run_id, [position])).order_by(SAMPLE_RESULTS.c.sample)
    rows = connection.execute(samples).mappings().all()
    return CaseDetail(case=line, samples=tuple(map(_sample, rows)))


def _sample(row: RowMapping) -> SampleLine:
    values = _plain(row)
    for name, empty in _JSON.items():
        values[name] = msgspec.json.decode(values[name]) if values[name] else empty
    if row["answer"] is not None:
        values["answer_hash"] = row["answer_hash"] or hash_answer(row["answer"])
    judges = read_judges(row["judges"])
    scores = sorted(read_scores(row["scores"]).items())
    values["scores"] = {metric: _score(score, judges.get(metric)) for metric, score in scores}
    return msgspec.convert(values, SampleLine)


def _score(score: StoredScore, judge: str | None) -> ScoreLine:
    return ScoreLine(
        value=score.value,
        passed=score.passed,
        outcome=score.outcome,
        reason=score.reason,
        judge=judge,
        details=score.details,
        repeats=score.repeats or (),
    )


def _plain(row: RowMapping) -> dict[str, Any]:
    """Convert the keys to plain `str`; SQLAlchemy's are a subclass."""
    return {str(name): value for name, value in row.items()}


def _at(table: Table, run_id: str, positions: Sequence[int]) -> tuple[Any, Any]:
    return table.c.run_id == run_id, table.c.position.in_(positions)


def _line(row: RowMapping, metrics: dict[str, CaseMetric], flags: dict[str, CaseFlag]) -> CaseLine:
    values = {name: value for name, value in _plain(row).items() if value is not None}
    values["metadata"] = msgspec.json.decode(row["metadata"]) if row["metadata"] else {}
    values["error_kinds"] = tuple(msgspec.json.decode(row["error_kinds"])) if row["error_kinds"] else ()
    values.setdefault("status", "pending")
    nothing = dict.fromkeys(("content_hash", "file", "line", "input"))
    return CaseLine(**{**nothing, **values}, metrics=metrics, flags=flags)


def _unknown_case(connection: Connection, run_id: str, case_id: str) -> UnknownNameError:
    own = CASES.c.run_id == run_id
    # Ids of similar length first, because a run may have too many to compare.
    near_length = (func.abs(func.length(CASES.c.case_id) - len(case_id)), CASES.c.position)
    ids = connection.scalars(select(CASES.c.case_id).where(own).order_by(*near_length).limit(_NAMES_LOOKED_AT)).all()
    total = connection.scalar(select(func.count()).select_from(CASES).where(own))
    return UnknownNameError("test case", case_id, ids, total=total)
