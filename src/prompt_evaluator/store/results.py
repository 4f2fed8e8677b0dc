"""Writes and queries the results of runs."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import func, select, update

from prompt_evaluator.model.query import StatusTotals
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.all_cases import read_order
from prompt_evaluator.store.case_columns import StoredColumns
from prompt_evaluator.store.case_lines import read_case_detail
from prompt_evaluator.store.case_query import count_cases, query_cases, read_matching_ids, read_neighbours
from prompt_evaluator.store.chart_query import VaryingCells, count_bins, most_varying, read_cells
from prompt_evaluator.store.leaderboard_query import finished_run, read_finished
from prompt_evaluator.store.news import read_news
from prompt_evaluator.store.result_rows import FinishedCase, add_cases, delete_results
from prompt_evaluator.store.result_tables import CASE_RESULTS
from prompt_evaluator.store.run_names import find_run, unknown_run
from prompt_evaluator.store.run_query import (
    query_runs,
    read_history,
    read_run_keys,
    read_run_line,
    read_run_lines,
    read_run_values,
)
from prompt_evaluator.store.run_rows import progress_columns, summary_columns
from prompt_evaluator.store.schema import RUNS
from prompt_evaluator.store.trend_query import read_case_noise, read_common_means, read_steps, read_versions

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from prompt_evaluator.model import RunProgress
    from prompt_evaluator.model.case_columns import CaseColumns
    from prompt_evaluator.model.condition import Condition
    from prompt_evaluator.model.pairwise import Pair
    from prompt_evaluator.model.query import (
        CaseDetail,
        CaseLine,
        CaseNews,
        CaseQuery,
        Neighbours,
        NewsPlace,
        Page,
        RunLine,
        RunQuery,
    )
    from prompt_evaluator.model.result import CaseResult, RunResult
    from prompt_evaluator.model.trend import CaseNoise, RunVersion
    from prompt_evaluator.store.chart_query import BinEdges
    from prompt_evaluator.store.leaderboard_query import FinishedRun

_CASES_AT_ONCE = 64


class Results(Access):
    """The part of the store that holds results."""

    def replace_results(
        self,
        run_id: str,
        results: Iterable[tuple[int, CaseResult]],
        summary: Callable[[], RunResult],
        *,
        judges: Mapping[str, str],
    ) -> None:
        """Rebuild all result rows of a run, a few cases at a time so that other runs can be written meanwhile.

        If `results` raises, the remaining rows are missing, and the run can be rebuilt again.

        Args:
            run_id: The run.
            results: Positions and results of all cases that have any; a stream of any length.
            summary: Called after the last case.
            judges: Maps score name to judge model. May grow while `results` is read.
        """
        with self._write_run(run_id) as connection:
            delete_results(connection, run_id)
        stream = iter(results)
        while batch := list(islice(stream, _CASES_AT_ONCE)):
            with self._write_run(run_id) as connection:
                add_cases(connection, run_id, [FinishedCase(at, result, judges) for at, result in batch])
        with self._write_run(run_id) as connection:
            self._set(connection, run_id, summary_columns(summary()))

    def known_cases(self, run_id: str) -> int:
        """How many cases have any result, finished or not."""
        with self._read() as connection:
            return connection.scalar(select(func.count()).where(CASE_RESULTS.c.run_id == run_id)) or 0

    def save_progress(self, run_id: str, progress: RunProgress, summary: RunResult | None) -> str | None:
        """Store the run's progress for other processes to read. Return why the run is to stop, if it is."""
        values = progress_columns(progress) | (summary_columns(summary) if summary else {})
        saved = update(RUNS).where(RUNS.c.run_id == run_id).values(values).returning(RUNS.c.stop_requested)
        with self._write_run(run_id) as connection:
            row = connection.execute(saved).first()
            if row is None:
                raise unknown_run(connection, run_id)
            reason: str | None = row.stop_requested
            return reason

    def query_runs(self, query: RunQuery, *, interrupted: Collection[str] = ()) -> Page[RunLine]:
        """Return a page of runs; those with an id in `interrupted` get the status `interrupted`."""
        with self._read() as connection:
            return query_runs(connection, query, interrupted)

    def run_line(self, run_id: str, *, interrupted: Collection[str] = ()) -> RunLine:
        """Return the list entry of the run that a name means."""
        with self._read() as connection:
            return read_run_line(connection, find_run(connection, run_id), interrupted)

    def run_lines(self, run_ids: Sequence[str]) -> dict[str, RunLine]:
        """Return the list entries of finished runs, by id."""
        with self._read() as connection:
            return read_run_lines(connection, run_ids)

    def finished_runs(self, hashes: Sequence[str] | None = None, *, limit: int) -> list[FinishedRun]:
        """The newest evaluations that have ended with results, of these datasets or all, newest first."""
        found = []
        with self._read() as connection:
            for row in read_finished(connection, hashes, limit):
                with self._readable(row.run_id):
                    found.append(finished_run(row))
        return found

    def run_values(self, field: str, *, interrupted: Collection[str] = ()) -> list[Any]:
        """The values that runs have in a field that conditions can be about, each once, at most a thousand."""
        with self._read() as connection:
            return read_run_values(connection, field, interrupted)

    def run_keys(self, column: str) -> set[str]:
        """The keys that runs have in `tags` or `errors`."""
        with self._read() as connection:
            return read_run_keys(connection, column)

    def history(self, dataset: str, *, limit: int = 50, interrupted: Collection[str] = ()) -> list[RunLine]:
        """Return the newest runs of a dataset, given its name or hash."""
        with self._read() as connection:
            return read_history(connection, dataset, limit, interrupted)

    def run_versions(self, where: Sequence[Condition], *, interrupted: Collection[str] = ()) -> list[RunVersion]:
        """The versions of datasets and judges that matching runs have, the most recently used first."""
        with self._read() as connection:
            return read_versions(connection, where, interrupted)

    def case_noise(self, run_ids: Sequence[str], metric: str, positions: Sequence[int]) -> dict[str, CaseNoise]:
        """How much the samples of cases at these positions vary, by run."""
        with self._read() as connection:
            return read_case_noise(connection, run_ids, metric, positions)

    def common_means(self, run_ids: Sequence[str], metric: str) -> tuple[int, dict[str, float]]:
        """How many cases all of these runs have scored, and each run's mean over them. Reads all cases."""
        with self._read() as connection:
            return read_common_means(connection, run_ids, metric)

    def case_steps(self, run_ids: Sequence[str], metric: str, positions: Sequence[int]) -> list[float]:
        """Mean square differences of the same case between each run and the one before, in this order."""
        with self._read() as connection:
            return read_steps(connection, run_ids, metric, positions)

    def score_bins(self, run_id: str, edges: Mapping[str, BinEdges]) -> dict[tuple[str, int], int]:
        """How many samples have a score in each bin, by metric and number of the bin."""
        return count_bins(self.case_columns(run_id), edges)

    def varying_cells(self, run_id: str, spans: Mapping[str, float], limit: int) -> VaryingCells:
        """The cases whose samples vary most, on metrics with these widths of their scales."""
        positions, cases = most_varying(self.case_columns(run_id), spans, limit) if spans else ([], 0)
        with self._read() as connection:
            return VaryingCells(tuple(read_cells(connection, run_id, positions, spans)), cases)

    def case_columns(self, run_id: str) -> Iterator[CaseColumns]:
        """All cases of a run in file order, `CASES_AT_ONCE` at a time."""
        return StoredColumns(self._read, run_id).pieces()

    def running(self) -> list[str]:
        """Ids of the runs with the status `running`, including those of killed processes."""
        with self._read() as connection:
            return list(connection.scalars(select(RUNS.c.run_id).where(RUNS.c.status == "running")))

    def query_cases(self, query: CaseQuery, order: Sequence[int] | None = None) -> Page[CaseLine]:
        """Return a page of a run's cases; quicker if what `case_order` found for the query is given."""
        with self._read() as connection:
            full = find_run(connection, query.run_id)
            return query_cases(connection, msgspec.structs.replace(query, run_id=full), order)

    def count_cases(self, query: CaseQuery) -> int:
        """Count the cases on all pages."""
        with self._read() as connection:
            full = find_run(connection, query.run_id)
            return count_cases(connection, msgspec.structs.replace(query, run_id=full))

    def matching_ids(self, query: CaseQuery) -> list[str]:
        """Return the ids of the cases on all pages, in dataset order."""
        with self._read() as connection:
            full = find_run(connection, query.run_id)
            return read_matching_ids(connection, msgspec.structs.replace(query, run_id=full))

    def case_order(self, query: CaseQuery) -> Sequence[int]:
        """Return the positions of the cases on all pages, in the order of the query."""
        with self._read() as connection:
            full = find_run(connection, query.run_id)
            return read_order(connection, msgspec.structs.replace(query, run_id=full))

    def neighbours(self, run_id: str, case_id: str, order: Sequence[int]) -> Neighbours:
        """Return the cases before and after this one in what `case_order` found."""
        with self._read() as connection:
            return read_neighbours(connection, find_run(connection, run_id), case_id, order)

    def totals_by_status(self) -> list[StatusTotals]:
        """How many runs have each status, and what they used."""
        sums = [func.coalesce(func.sum(RUNS.c[name]), 0) for name in StatusTotals._fields[2:]]
        wanted = select(RUNS.c.status, func.count(), *sums).group_by(RUNS.c.status).order_by(RUNS.c.status)
        with self._read() as connection:
            return [StatusTotals(*row) for row in connection.execute(wanted)]

    def news(self, run_id: str, since: NewsPlace, known: Collection[NewsPlace] = ()) -> list[CaseNews]:
        """At most `MOST_NEWS` cases of a run that ended after this place, without those that are known."""
        with self._read() as connection:
            return read_news(connection, run_id, since, known)

    def case_detail(self, run_id: str, case_id: str) -> CaseDetail:
        """Return one case of a run with all its samples."""
        with self._read() as connection:
            return read_case_detail(connection, find_run(connection, run_id), case_id)

    def content_hashes(self, run_id: str, case_ids: Sequence[str]) -> dict[str, str]:
        """Those of these cases that a run has, with a hash that is equal for the same case in another run."""
        from prompt_evaluator.store.pairs import read_content_hashes  # noqa: PLC0415 - most commands do not need it

        with self._read() as connection:
            return read_content_hashes(connection, run_id, case_ids)

    def pairs(self, run_id: str) -> Iterator[list[Pair]]:
        """Yield the judged pairs of each case of a pairwise comparison, in file order."""
        from prompt_evaluator.store.pairs import read_pairs  # noqa: PLC0415 - most commands do not need it

        with self._read() as connection:
            yield from read_pairs(connection, run_id)

    def _set(self, connection: Connection, run_id: str, values: Mapping[str, Any]) -> None:
        if not connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(values)).rowcount:
            raise unknown_run(connection, run_id)
