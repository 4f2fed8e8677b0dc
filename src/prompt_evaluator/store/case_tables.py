"""Reads what a table of cases shows beside each case, and counts cases by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import select

from prompt_evaluator.model.query import SampleTick
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.all_cases import count_flags, read_states
from prompt_evaluator.store.case_columns import StoredColumns, read_problems
from prompt_evaluator.store.news import read_first_problems
from prompt_evaluator.store.result_tables import SAMPLE_RESULTS
from prompt_evaluator.store.run_names import find_run
from prompt_evaluator.store.sample_scores import read_scores
from prompt_evaluator.store.schema import CASES
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.model.case_columns import CaseKinds, CaseStates
    from prompt_evaluator.model.query import CaseNews, CaseProblems, CaseQuery

Ticks = dict[int, dict[str, list[SampleTick]]]


class CaseTables(Access):
    """The part of the store that tables of cases are made from."""

    def case_states(self, query: CaseQuery) -> CaseStates:
        """The cases on all pages with their states, in dataset order."""
        with self._read() as connection:
            full = find_run(connection, query.run_id)
            return read_states(connection, msgspec.structs.replace(query, run_id=full))

    def case_positions(self, run_id: str) -> dict[str, int]:
        """The position of every case of a run, by its id."""
        wanted = select(CASES.c.case_id, CASES.c.position).where(CASES.c.run_id == run_id)
        with self._read() as connection:
            return dict(connection.execute(wanted).all())

    def case_problems(self, run_ids: Sequence[str]) -> dict[str, CaseProblems]:
        """How many cases of each of these runs are flaky, and how many have errors."""
        with self._read() as connection:
            return {run_id: read_problems(connection, run_id) for run_id in run_ids}

    def case_kinds(self, run_id: str) -> Iterator[CaseKinds]:
        """The metadata of all cases of a run in dataset order, some thousand at a time."""
        return StoredColumns(self._read, run_id).kinds()

    def count_flags(self, run_id: str, positions: Sequence[int]) -> dict[str, int]:
        """Every flag that was raised in a run, and in how many of these cases, given in dataset order."""
        with self._read() as connection:
            return count_flags(connection, run_id, positions)

    def sample_ticks(self, run_id: str, positions: Sequence[int], metrics: Sequence[str]) -> Ticks:
        """The scores of all samples of a few cases on these metrics, by position and metric."""
        found: Ticks = {}
        row = SAMPLE_RESULTS.c
        with self._read() as connection:
            for chunk in chunks(positions):
                wanted = select(row.position, row.scores).where(row.run_id == run_id, row.position.in_(chunk))
                for position, text in connection.execute(wanted.order_by(row.position, row.sample)):
                    for metric, score in read_scores(text).items():
                        if metric in metrics and score.outcome != "skipped":
                            tick = SampleTick(score.value, score.passed)
                            found.setdefault(position, {}).setdefault(metric, []).append(tick)
        return found

    def first_problems(self, run_id: str, *, limit: int) -> list[CaseNews]:
        """The cases that were the first to fail or to have errors."""
        with self._read() as connection:
            return read_first_problems(connection, run_id, limit)
