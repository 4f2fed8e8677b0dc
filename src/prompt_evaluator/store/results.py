"""Results of runs in the store: written as a whole, and asked for."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import func, select, update

from prompt_evaluator.store.access import Access
from prompt_evaluator.store.case_lines import read_case_detail
from prompt_evaluator.store.case_means import read_case_means
from prompt_evaluator.store.case_query import count_cases, query_cases, read_matching_ids
from prompt_evaluator.store.result_rows import FinishedCase, add_cases, delete_results
from prompt_evaluator.store.result_tables import CASE_RESULTS
from prompt_evaluator.store.run_query import (
    query_runs,
    read_history,
    read_run_keys,
    read_run_line,
    read_run_values,
)
from prompt_evaluator.store.run_rows import progress_columns, summary_columns
from prompt_evaluator.store.schema import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from prompt_evaluator.model import RunProgress
    from prompt_evaluator.model.query import CaseDetail, CaseLine, CaseMeans, CaseQuery, Page, RunLine, RunQuery
    from prompt_evaluator.model.result import CaseResult, RunResult

_CASES_AT_ONCE = 64


class Results(Access):
    """What runs come to."""

    def replace_results(
        self,
        run_id: str,
        results: Iterable[tuple[int, CaseResult]],
        summary: Callable[[], RunResult],
        *,
        judges: Mapping[str, str],
    ) -> None:
        """Make all result rows of a run anew, a few cases at a time: other runs are being written meanwhile.

        Where `results` breaks off, rows are missing; they can be made again like all others.

        Args:
            run_id: The run.
            results: Its cases with their positions, a stream of any length, those of which anything is known.
            summary: Called after the last of them.
            judges: By score, the model of the judge that gave it. May grow while `results` is read.
        """
        with self._write() as connection:
            delete_results(connection, run_id)
        stream = iter(results)
        while batch := list(islice(stream, _CASES_AT_ONCE)):
            with self._write() as connection:
                add_cases(connection, run_id, [FinishedCase(at, result, judges) for at, result in batch])
        with self._write() as connection:
            self._set(connection, run_id, summary_columns(summary()))

    def known_cases(self, run_id: str) -> int:
        """Of how many cases anything is known, be they finished or not."""
        with self._read() as connection:
            return connection.scalar(select(func.count()).where(CASE_RESULTS.c.run_id == run_id)) or 0

    def save_progress(self, run_id: str, progress: RunProgress, summary: RunResult | None) -> None:
        """Say how far a run is, for other processes that watch it."""
        values = progress_columns(progress) | (summary_columns(summary) if summary else {})
        with self._write() as connection:
            self._set(connection, run_id, values)

    def query_runs(self, query: RunQuery, *, interrupted: Collection[str] = ()) -> Page[RunLine]:
        """A page of runs; those whose ids are in `interrupted` have this for their status."""
        with self._read() as connection:
            return query_runs(connection, query, interrupted)

    def run_line(self, run_id: str, *, interrupted: Collection[str] = ()) -> RunLine:
        """The run with this id, or the only one whose id begins like this, as it is listed."""
        with self._read() as connection:
            return read_run_line(connection, self._full_id(connection, run_id), interrupted)

    def run_values(self, field: str, *, interrupted: Collection[str] = ()) -> list[Any]:
        """The values that runs have in a field that conditions can be about, each once, at most a thousand."""
        with self._read() as connection:
            return read_run_values(connection, field, interrupted)

    def run_keys(self, column: str) -> set[str]:
        """The keys that runs have in `tags` or `errors`."""
        with self._read() as connection:
            return read_run_keys(connection, column)

    def history(self, dataset: str, *, limit: int = 50, interrupted: Collection[str] = ()) -> list[RunLine]:
        """The newest runs of a dataset, by its name or its hash."""
        with self._read() as connection:
            return read_history(connection, dataset, limit, interrupted)

    def running(self) -> list[str]:
        """The ids of runs that have not ended, as far as they say."""
        with self._read() as connection:
            return list(connection.scalars(select(RUNS.c.run_id).where(RUNS.c.status == "running")))

    def query_cases(self, query: CaseQuery) -> Page[CaseLine]:
        """A page of the cases of a run."""
        with self._read() as connection:
            full = self._full_id(connection, query.run_id)
            return query_cases(connection, msgspec.structs.replace(query, run_id=full))

    def count_cases(self, query: CaseQuery) -> int:
        """How many cases of a run there are on all pages."""
        with self._read() as connection:
            full = self._full_id(connection, query.run_id)
            return count_cases(connection, msgspec.structs.replace(query, run_id=full))

    def matching_ids(self, query: CaseQuery) -> list[str]:
        """The ids of the cases on all pages, in the order of the dataset."""
        with self._read() as connection:
            full = self._full_id(connection, query.run_id)
            return read_matching_ids(connection, msgspec.structs.replace(query, run_id=full))

    def case_detail(self, run_id: str, case_id: str) -> CaseDetail:
        """One case of a run with all its samples."""
        with self._read() as connection:
            return read_case_detail(connection, self._full_id(connection, run_id), case_id)

    def case_means(self, run_ids: Sequence[str], metrics: Sequence[str] | None = None) -> Iterator[CaseMeans]:
        """The cases of several runs side by side, by case id, as a stream; of all metrics, or of these."""
        with self._read() as connection:
            yield from read_case_means(connection, [self._full_id(connection, each) for each in run_ids], metrics)

    def _set(self, connection: Connection, run_id: str, values: Mapping[str, Any]) -> None:
        if not connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(values)).rowcount:
            raise self._unknown(connection, run_id)
