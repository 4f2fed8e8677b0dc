"""Reads what charts show, added up by the database: no chart needs every sample in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import Float, Integer, case, cast, func, select

from prompt_evaluator.store.result_tables import CASE_METRICS, SCORES
from prompt_evaluator.store.schema import CASES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlalchemy import ColumnElement, Connection

_CASES_AT_ONCE = 1_000
_ROUNDING = 1e-9
"""A score on the edge of two bins belongs to the upper one, also if it is a little below it after rounding."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class BinEdges(NamedTuple):
    """Bins of equal width."""

    start: float
    width: float
    bins: int


class StoredCell(NamedTuple):
    """A case on one metric."""

    case_id: str
    metric: str
    mean: float
    std: float | None
    samples: int
    variability: str | None


class VaryingCells(NamedTuple):
    """The cells of the cases that vary most, the most varying case first, and how many cases have any score."""

    cells: tuple[StoredCell, ...]
    cases: int


class SlicedCase(NamedTuple):
    """A case with its means by metric."""

    metadata: dict[str, Any]
    means: dict[str, float]


def read_bins(connection: Connection, run_id: str, edges: Mapping[str, BinEdges]) -> dict[tuple[str, int], int]:
    """How many samples have a score in each bin, by metric and number of the bin; empty bins are absent.

    Scores below the first bin count in it, those above the last one in that.
    """
    if not edges:
        return {}
    metric = SCORES.c.metric
    start = case({name: each.start for name, each in edges.items()}, value=metric)
    width = case({name: each.width for name, each in edges.items()}, value=metric)
    last = case({name: each.bins - 1 for name, each in edges.items()}, value=metric)
    position = (SCORES.c.value - cast(start, Float)) / cast(width, Float) + _ROUNDING
    number = case((position < 0, 0), (position >= last, last), else_=_whole(connection, position)).label("number")
    wanted = (
        select(metric, number, func.count())
        .where(SCORES.c.run_id == run_id, metric.in_(list(edges)), SCORES.c.value.is_not(None))
        .group_by(metric, number)
    )
    return {(name, int(at)): count for name, at, count in connection.execute(wanted)}


def read_varying(connection: Connection, run_id: str, spans: Mapping[str, float], limit: int) -> VaryingCells:
    """Cases sorted by their largest standard deviation, as a share of the metric's scale (`spans`)."""
    if not spans:
        return VaryingCells((), 0)
    own = (
        CASE_METRICS.c.run_id == run_id,
        CASE_METRICS.c.metric.in_(list(spans)),
        CASE_METRICS.c.mean.is_not(None),
    )
    share = CASE_METRICS.c.std / cast(case({**spans}, value=CASE_METRICS.c.metric), Float)
    widest = func.coalesce(func.max(share), 0.0)
    ranked = (
        select(CASE_METRICS.c.position)
        .where(*own)
        .group_by(CASE_METRICS.c.position)
        .order_by(widest.desc(), CASE_METRICS.c.position)
        .limit(limit)
    )
    positions = list(connection.scalars(ranked))
    cases = connection.scalar(select(func.count(CASE_METRICS.c.position.distinct())).where(*own)) or 0
    columns = (CASE_METRICS.c[name] for name in ("position", "metric", "mean", "std", "count", "variability"))
    wanted = (
        select(CASES.c.case_id, *columns)
        .join(CASES, (CASES.c.run_id == CASE_METRICS.c.run_id) & (CASES.c.position == CASE_METRICS.c.position))
        .where(*own, CASE_METRICS.c.position.in_(positions))
    )
    order = {position: at for at, position in enumerate(positions)}
    metrics = {name: at for at, name in enumerate(spans)}
    rows = sorted(connection.execute(wanted), key=lambda row: (order[row.position], metrics[row.metric]))
    found = (StoredCell(row[0], row.metric, row.mean, row.std, row[5], row.variability) for row in rows)
    return VaryingCells(tuple(found), cases)


def read_sliced(connection: Connection, run_id: str) -> Iterator[SlicedCase]:
    """Every case with metadata or scores, in file order, read some at a time."""
    start = 0
    while True:
        rows = connection.execute(
            select(CASES.c.position, CASES.c.metadata)
            .where(CASES.c.run_id == run_id, CASES.c.position >= start)
            .order_by(CASES.c.position)
            .limit(_CASES_AT_ONCE)
        ).all()
        if not rows:
            return
        means = _means(connection, run_id, rows[0].position, rows[-1].position)
        for position, metadata in rows:
            if position in means:
                yield SlicedCase(_decode(metadata) if metadata else {}, means[position])
        start = rows[-1].position + 1


def _means(connection: Connection, run_id: str, first: int, last: int) -> dict[int, dict[str, float]]:
    found: dict[int, dict[str, float]] = {}
    wanted = select(CASE_METRICS.c.position, CASE_METRICS.c.metric, CASE_METRICS.c.mean).where(
        CASE_METRICS.c.run_id == run_id,
        CASE_METRICS.c.position.between(first, last),
        CASE_METRICS.c.mean.is_not(None),
    )
    for position, metric, mean in connection.execute(wanted):
        found.setdefault(position, {})[metric] = mean
    return found


def _whole(connection: Connection, number: ColumnElement[Any]) -> ColumnElement[Any]:
    """The whole part of a number that is not negative: PostgreSQL rounds where SQLite cuts off."""
    return cast(number if connection.dialect.name == "sqlite" else func.floor(number), Integer)
