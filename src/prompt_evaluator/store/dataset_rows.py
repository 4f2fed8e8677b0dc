"""Reads which datasets runs have used, and why samples did not pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, select

from prompt_evaluator.model.dataset_api import DatasetUse, FailedScore
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import read_scores
from prompt_evaluator.store.schema import CASES, RUNS
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

_MOST_VERSIONS = 1_000


class DatasetRows(Access):
    """The part of the store that pages about datasets are made from."""

    def dataset_uses(self) -> list[DatasetUse]:
        """Every dataset that has a name, the most recently used first."""
        with self._read() as connection:
            return _uses(connection, (RUNS.c.dataset_name,), RUNS.c.dataset_name.is_not(None))

    def dataset_versions(self, name: str) -> list[DatasetUse]:
        """The versions of a dataset that runs have used, the most recently used first."""
        with self._read() as connection:
            return _uses(connection, (RUNS.c.dataset_name, RUNS.c.dataset_hash), RUNS.c.dataset_name == name)

    def known_runs(self, run_ids: Sequence[str]) -> set[str]:
        """Those of these runs that are stored."""
        found: set[str] = set()
        with self._read() as connection:
            for chunk in chunks(run_ids):
                found.update(connection.scalars(select(RUNS.c.run_id).where(RUNS.c.run_id.in_(chunk))))
        return found

    def failed_scores(self, run_id: str, case_ids: Sequence[str]) -> list[FailedScore]:
        """Scores of these cases that did not pass, with the reasons, by sample."""
        row, found = SAMPLE_RESULTS.c, []
        same = and_(CASES.c.run_id == row.run_id, CASES.c.position == row.position)
        wanted = select(CASES.c.case_id, row.sample, row.scores).join_from(SAMPLE_RESULTS, CASES, same)
        with self._read() as connection:
            for chunk in chunks(case_ids):
                own = (row.run_id == run_id, CASES.c.case_id.in_(chunk), row.passed.is_(False))
                rows = connection.execute(wanted.where(*own).order_by(row.position, row.sample))
                found += [
                    FailedScore(case_id, sample, metric, score.reason)
                    for case_id, sample, text in rows
                    for metric, score in sorted(read_scores(text).items())
                    if score.passed is False
                ]
        return found


def _uses(connection: Connection, keys: tuple[Any, ...], which: ColumnElement[bool]) -> list[DatasetUse]:
    """Count runs by some columns. The newest run of each is looked up by its time, which has an index."""
    last = func.max(ordered(connection, RUNS.c.started_at)).label("last")
    groups = select(*keys, func.count().label("runs"), last).where(which).group_by(*keys).subquery()
    same = [key.is_not_distinct_from(groups.c[key.name]) for key in keys[1:]]
    newest = and_(RUNS.c.dataset_name == groups.c.dataset_name, RUNS.c.started_at == groups.c.last, *same)
    wanted = (
        select(*groups.c, func.max(ordered(connection, RUNS.c.run_id)).label("run_id"))
        .join(RUNS, newest)
        .group_by(*groups.c)
        .order_by(groups.c.last.desc(), *groups.c)
        .limit(_MOST_VERSIONS)
    )
    return [
        DatasetUse(row["dataset_name"], row.get("dataset_hash"), row["runs"], row["run_id"], row["last"])
        for row in connection.execute(wanted).mappings()
    ]
