"""Results of runs in the store: written as a whole, and asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, select, update

from prompt_evaluator.store.access import Access
from prompt_evaluator.store.result_rows import FinishedCase, add_cases, delete_results
from prompt_evaluator.store.result_tables import CASE_RESULTS
from prompt_evaluator.store.run_rows import progress_columns, summary_columns
from prompt_evaluator.store.schema import RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from sqlalchemy import Connection

    from prompt_evaluator.model import RunProgress
    from prompt_evaluator.model.result import CaseResult, RunResult


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
        """Make all result rows of a run anew, or leave them as they are.

        Args:
            run_id: The run.
            results: Its cases with their positions, a stream of any length; what is pending gets no rows.
            summary: Called after the last of them.
            judges: By score, the model of the judge that gave it. May grow while `results` is read.
        """
        done = (FinishedCase(at, result, judges) for at, result in results if result.status != "pending")
        with self._write() as connection:
            delete_results(connection, run_id)
            add_cases(connection, run_id, done)
            self._set(connection, run_id, summary_columns(summary()))

    def finished_cases(self, run_id: str) -> int:
        """How many cases have nothing left to do."""
        done = select(func.count()).where(CASE_RESULTS.c.run_id == run_id, CASE_RESULTS.c.status != "pending")
        with self._read() as connection:
            return connection.scalar(done) or 0

    def save_progress(self, run_id: str, progress: RunProgress, summary: RunResult | None) -> None:
        """Say how far a run is, for other processes that watch it."""
        values = progress_columns(progress) | (summary_columns(summary) if summary else {})
        with self._write() as connection:
            self._set(connection, run_id, values)

    def _set(self, connection: Connection, run_id: str, values: Mapping[str, Any]) -> None:
        if not connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(values)).rowcount:
            raise self._unknown(connection, run_id)
