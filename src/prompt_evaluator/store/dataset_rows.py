"""Reads which datasets runs have used, how cases differ between runs or from a file, and why samples did not pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import and_, case, func, select

from prompt_evaluator.model import TestCase
from prompt_evaluator.model.dataset_api import CaseDifferences, DatasetUse, FailedScore
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS
from prompt_evaluator.store.run_rows import content_hash
from prompt_evaluator.store.sample_scores import read_scores
from prompt_evaluator.store.schema import CASES, RUNS
from prompt_evaluator.store.texts import clean
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection

_decode = msgspec.json.Decoder(TestCase).decode
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

    def case_differences(self, before: str, after: str | Iterable[TestCase]) -> CaseDifferences:
        """How the cases of two runs differ, or those of a run from others. The cases of a run never change."""
        with self._read() as connection:
            old = _case_versions(connection, before)
            new = (
                _case_versions(connection, after)
                if isinstance(after, str)
                else {each.id: (content_hash(each), clean(each.input)) for each in after}
            )
        changed = tuple(name for name, version in new.items() if name in old and _differ(old[name], version))
        return CaseDifferences(
            added=tuple(name for name in new if name not in old),
            removed=tuple(name for name in old if name not in new),
            changed=changed,
            same=len(old.keys() & new.keys()) - len(changed),
        )

    def cases_by_id(self, run_id: str, case_ids: Sequence[str]) -> dict[str, TestCase]:
        """Those of these cases that a run has."""
        found: dict[str, TestCase] = {}
        with self._read() as connection:
            for chunk in chunks(case_ids):
                wanted = select(CASES.c.case_id, CASES.c.data).where(
                    CASES.c.run_id == run_id, CASES.c.case_id.in_(chunk)
                )
                found |= {case_id: _decode(data) for case_id, data in connection.execute(wanted)}
        return found

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


def _case_versions(connection: Connection, run_id: str) -> dict[str, tuple[str | None, str | None]]:
    """By id, the hash of each case; of a case of an old store, its input instead."""
    text = case((CASES.c.content_hash.is_(None), CASES.c.input))
    wanted = select(CASES.c.case_id, CASES.c.content_hash, text).where(CASES.c.run_id == run_id)
    rows = connection.execute(wanted.order_by(CASES.c.position))
    return {case_id: (digest, written) for case_id, digest, written in rows}


def _differ(old: tuple[str | None, str | None], new: tuple[str | None, str | None]) -> bool:
    """Whether two versions are known to differ; hashes of different kinds cannot be compared."""
    return any(one is not None and other is not None and one != other for one, other in zip(old, new, strict=True))
