"""Reads the cases of a run that finished lately."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import and_, or_, select

from prompt_evaluator.model.query import MOST_NEWS, CaseNews, NewsPlace
from prompt_evaluator.store.result_tables import CASE_METRICS, CASE_RESULTS
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection

_ROW = CASE_RESULTS.c
_COLUMNS = (
    *(_ROW.position, _ROW.case_id, _ROW.status, _ROW.error_kinds, _ROW.flaky, _ROW.flagged, _ROW.failing),
    _ROW.ended_at,
)


def read_news(connection: Connection, run_id: str, since: NewsPlace, known: Collection[NewsPlace]) -> list[CaseNews]:
    """Cases that ended after this place, in the order in which they ended, without those that are known."""
    later = or_(_ROW.ended_at > since.ended_at, and_(_ROW.ended_at == since.ended_at, _ROW.position > since.position))
    own = (_ROW.run_id == run_id, _ROW.ended_at >= since.ended_at, later, _ROW.status != "pending")
    wanted = select(*_COLUMNS).where(*own).order_by(_ROW.ended_at, _ROW.position)
    with connection.execute(wanted) as found:
        unknown = (row for row in found if NewsPlace(row.ended_at, row.position) not in known)
        rows = list(islice(unknown, MOST_NEWS))
    return _news(connection, run_id, rows)


def read_first_problems(connection: Connection, run_id: str, limit: int) -> list[CaseNews]:
    """The cases that were the first to fail or to have errors, in the order in which they ended."""
    wrong = or_(_ROW.failing.is_(True), _ROW.error_kinds.is_not(None))
    own = (_ROW.run_id == run_id, _ROW.status != "pending", wrong)
    wanted = select(*_COLUMNS).where(*own).order_by(_ROW.ended_at, _ROW.position).limit(limit)
    return _news(connection, run_id, connection.execute(wanted).all())


def _news(connection: Connection, run_id: str, rows: Sequence[Any]) -> list[CaseNews]:
    means = _means(connection, run_id, [row.position for row in rows])
    return [
        CaseNews(
            position=row.position,
            case_id=row.case_id,
            status=row.status,
            error_kinds=tuple(msgspec.json.decode(row.error_kinds)) if row.error_kinds else (),
            flaky=bool(row.flaky),
            flagged=bool(row.flagged),
            failing=bool(row.failing),
            ended_at=row.ended_at,
            scores=means.get(row.position, {}),
        )
        for row in rows
    ]


def _means(connection: Connection, run_id: str, positions: list[int]) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    of = CASE_METRICS.c
    for chunk in chunks(positions):
        own = (of.run_id == run_id, of.position.in_(chunk), of.mean.is_not(None))
        for position, metric, mean in connection.execute(select(of.position, of.metric, of.mean).where(*own)):
            found.setdefault(position, {})[metric] = mean
    return found
