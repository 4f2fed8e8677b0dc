"""Reads what trends need: the versions of datasets and judges, and how much the samples of cases vary in each run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Float, case, cast, func, select

from prompt_evaluator.model.trend import CaseNoise, RunVersion
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.result_tables import CASE_METRICS
from prompt_evaluator.store.run_query import holds
from prompt_evaluator.store.schema import RUNS

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import ColumnElement, Connection

    from prompt_evaluator.model.condition import Condition

_KEYS = [RUNS.c[name] for name in ("dataset_name", "dataset_path", "dataset_hash", "judge_model", "judge_hash")]
_MOST_VERSIONS = 1_000


def read_versions(
    connection: Connection, where: Sequence[Condition], interrupted: Collection[str] = ()
) -> list[RunVersion]:
    """The versions of datasets and judges that matching runs have, the most recently used first."""
    last = func.max(ordered(connection, RUNS.c.started_at)).label("last")
    wanted = (
        select(*_KEYS, func.count().label("runs"), last)
        .where(*(holds(connection, condition, interrupted) for condition in where))
        .group_by(*_KEYS)
        .order_by(last.desc(), *_KEYS)
        .limit(_MOST_VERSIONS)
    )
    return [RunVersion(**row) for row in connection.execute(wanted).mappings()]


def read_case_noise(
    connection: Connection, run_ids: Sequence[str], metric: str, positions: Sequence[int]
) -> dict[str, CaseNoise]:
    """Sums over the scored cases at these positions, by run; runs without any are absent."""
    count = cast(CASE_METRICS.c["count"], Float)
    several = CASE_METRICS.c["count"] > 1
    part = CASE_METRICS.c.std * CASE_METRICS.c.std / count
    sums: dict[str, ColumnElement[Any]] = {
        "cases": func.count(CASE_METRICS.c.mean),
        "inverse_counts": _sum(1 / count),
        "several_inverse_counts": _sum(case((several, 1 / count))),
        "squares": _sum(case((several, part))),
        "fourths": _sum(case((several, part * part / (count - 1)))),
        "spare": _sum(case((several, count - 1))),
    }
    wanted = (
        select(CASE_METRICS.c.run_id, *(column.label(name) for name, column in sums.items()))
        .where(*_scored(run_ids, metric), CASE_METRICS.c.position.in_(positions))
        .group_by(CASE_METRICS.c.run_id)
    )
    return {row.run_id: CaseNoise(**{name: getattr(row, name) for name in sums}) for row in connection.execute(wanted)}


def read_common_means(connection: Connection, run_ids: Sequence[str], metric: str) -> tuple[int, dict[str, float]]:
    """How many cases all of these runs have scored, and the mean of each run over these cases."""
    common = (
        select(CASE_METRICS.c.position)
        .where(*_scored(run_ids, metric))
        .group_by(CASE_METRICS.c.position)
        .having(func.count() == len(run_ids))
        .subquery()
    )
    wanted = (
        select(CASE_METRICS.c.run_id, func.count(), func.avg(CASE_METRICS.c.mean))
        .join(common, common.c.position == CASE_METRICS.c.position)
        .where(*_scored(run_ids, metric))
        .group_by(CASE_METRICS.c.run_id)
    )
    rows = connection.execute(wanted).all()
    return (rows[0][1] if rows else 0), {run_id: float(mean) for run_id, _, mean in rows}


def read_steps(connection: Connection, run_ids: Sequence[str], metric: str, positions: Sequence[int]) -> list[float]:
    """The mean square difference of the same case between each run and the one before, over cases at these positions.

    Args:
        connection: An open connection.
        run_ids: In order of time.
        metric: The metric.
        positions: Of the cases to look at.
    """
    order = case({run_id: at for at, run_id in enumerate(run_ids)}, value=CASE_METRICS.c.run_id)
    before = func.lag(CASE_METRICS.c.mean).over(partition_by=CASE_METRICS.c.position, order_by=order)
    each = (
        select(CASE_METRICS.c.run_id, (CASE_METRICS.c.mean - before).label("step"))
        .where(*_scored(run_ids, metric), CASE_METRICS.c.position.in_(positions))
        .subquery()
    )
    mean = func.avg(each.c.step * each.c.step)
    rows = connection.execute(select(each.c.run_id, mean).group_by(each.c.run_id)).all()
    found = {run_id: float(square) for run_id, square in rows if square is not None}
    return [found[run_id] for run_id in run_ids if run_id in found]


def _scored(run_ids: Sequence[str], metric: str) -> tuple[ColumnElement[bool], ...]:
    return CASE_METRICS.c.run_id.in_(run_ids), CASE_METRICS.c.metric == metric, CASE_METRICS.c.mean.is_not(None)


def _sum(column: ColumnElement[Any]) -> ColumnElement[Any]:
    return func.coalesce(func.sum(column), 0.0)
