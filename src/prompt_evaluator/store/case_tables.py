"""Reads what a table of cases shows beside each case, and counts cases by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import select

from prompt_evaluator.model.query import SampleTick
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.case_columns import read_problems
from prompt_evaluator.store.case_query import read_marks
from prompt_evaluator.store.news import read_first_problems
from prompt_evaluator.store.result_tables import CASE_FLAGS, SCORES
from prompt_evaluator.store.run_names import find_run
from prompt_evaluator.store.schema import CASES
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.model.query import CaseMark, CaseNews, CaseProblems, CaseQuery

Ticks = dict[int, dict[str, list[SampleTick]]]
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class CaseTables(Access):
    """The part of the store that tables of cases are made from."""

    def case_marks(self, query: CaseQuery) -> list[CaseMark]:
        """What is wrong with each case on all pages, in dataset order."""
        with self._read() as connection:
            full = find_run(connection, query.run_id)
            return read_marks(connection, msgspec.structs.replace(query, run_id=full))

    def case_positions(self, run_id: str) -> dict[str, int]:
        """The position of every case of a run, by its id."""
        wanted = select(CASES.c.case_id, CASES.c.position).where(CASES.c.run_id == run_id)
        with self._read() as connection:
            return dict(connection.execute(wanted).all())

    def case_problems(self, run_ids: Sequence[str]) -> dict[str, CaseProblems]:
        """How many cases of each of these runs are flaky, and how many have errors."""
        with self._read() as connection:
            return {run_id: read_problems(connection, run_id) for run_id in run_ids}

    def case_metadata(self, run_id: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """Position and metadata of every case that has any, in dataset order."""
        own = (CASES.c.run_id == run_id, CASES.c.metadata.is_not(None), CASES.c.metadata != "{}")
        wanted = select(CASES.c.position, CASES.c.metadata).where(*own).order_by(CASES.c.position)
        with self._read() as connection:
            for position, metadata in connection.execute(wanted):
                yield position, _decode(metadata)

    def raised_flags(self, run_id: str) -> list[tuple[int, str]]:
        """Positions of cases with the flags that were raised in them."""
        row = CASE_FLAGS.c
        wanted = select(row.position, row.flag).where(row.run_id == run_id, row.raised > 0)
        with self._read() as connection:
            return [(position, flag) for position, flag in connection.execute(wanted)]

    def sample_ticks(self, run_id: str, positions: Sequence[int], metrics: Sequence[str]) -> Ticks:
        """The scores of all samples of a few cases on these metrics, by position and metric."""
        found: Ticks = {}
        row = SCORES.c
        with self._read() as connection:
            for chunk in chunks(positions):
                own = (row.run_id == run_id, row.position.in_(chunk), row.metric.in_(metrics), row.outcome != "skipped")
                wanted = select(row.position, row.metric, row.value, row.passed).where(*own)
                for position, metric, value, passed in connection.execute(wanted.order_by(row.position, row.sample)):
                    found.setdefault(position, {}).setdefault(metric, []).append(SampleTick(value, passed))
        return found

    def first_problems(self, run_id: str, *, limit: int) -> list[CaseNews]:
        """The cases that were the first to fail or to have errors."""
        with self._read() as connection:
            return read_first_problems(connection, run_id, limit)
