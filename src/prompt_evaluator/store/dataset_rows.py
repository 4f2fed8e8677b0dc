"""Reads which datasets runs have used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import and_, func, select

from prompt_evaluator.model.dataset_api import DatasetUse
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.schema import RUNS
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
