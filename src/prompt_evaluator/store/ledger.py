"""The ledger: runs, their cases, and every finished unit of work."""

from __future__ import annotations

import sqlite3
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import msgspec
from sqlalchemy import Row, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import RunPlan, RunRecord, TestCase, Unit
from prompt_evaluator.store.case_columns import piece_starts, write_piece
from prompt_evaluator.store.case_tables import CaseTables
from prompt_evaluator.store.compared_run import StoredRun
from prompt_evaluator.store.cost_query import CostRows
from prompt_evaluator.store.damage import find_damage
from prompt_evaluator.store.database import open_database, open_unchanged
from prompt_evaluator.store.dataset_rows import DatasetRows
from prompt_evaluator.store.decisions import Decisions, refuse_pinned
from prompt_evaluator.store.error_query import ErrorRows
from prompt_evaluator.store.fence import check_owner
from prompt_evaluator.store.inserts import insert_rows
from prompt_evaluator.store.label_opinions import LabelOpinions
from prompt_evaluator.store.labels import insert_labels, read_labels, refuse_labelled
from prompt_evaluator.store.queue import Queue, leave_queue, start_values
from prompt_evaluator.store.report_rows import ReportRows
from prompt_evaluator.store.request_keys import RequestKeys
from prompt_evaluator.store.results import Results
from prompt_evaluator.store.run_edits import RunEdits
from prompt_evaluator.store.run_names import find_run, unknown_run
from prompt_evaluator.store.run_rows import case_row, run_row, summary_columns
from prompt_evaluator.store.schema import CASES, RUNS, UNITS
from prompt_evaluator.store.texts import clean_or_none
from prompt_evaluator.store.tokens import Tokens
from prompt_evaluator.store.unit_rows import find_units, index_names, read_units
from prompt_evaluator.store.worst_samples import WorstSamples
from prompt_evaluator.store.writer import LedgerWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.model import Label, RunStatus
    from prompt_evaluator.model.result import RunResult

_CHUNK = 256
_IDS_AT_ONCE = 512


class StoredCase(NamedTuple):
    """A case of a run and its position in the file, counted from 0 over the selected cases."""

    position: int
    case: TestCase


class Store(
    Results,
    CaseTables,
    DatasetRows,
    Decisions,
    Queue,
    Tokens,
    RequestKeys,
    WorstSamples,
    ReportRows,
    CostRows,
    RunEdits,
    ErrorRows,
    LabelOpinions,
):
    """The store of all runs. Methods may be called from any thread and raise `StoreError` if the store fails."""

    _names_are_indexed = False

    @classmethod
    def open(cls, location: Path | str, *, patience: float = 30.0) -> Self:
        """Open or create a store. One that cannot be read is refused and left unchanged.

        Args:
            location: A file, or the URL of a PostgreSQL database.
            patience: Seconds to wait for locks held by other processes.
        """
        return cls(open_database(location, patience=patience))

    @classmethod
    def open_unchanged(cls, location: Path | str, *, patience: float = 30.0) -> Self | None:
        """Open a store to look at it, without changing anything; None if there is none yet."""
        database = open_unchanged(location, patience=patience)
        return None if database is None else cls(database)

    @property
    def kind(self) -> str:
        """The database and its version, such as `PostgreSQL 16.2`."""
        version = ".".join(map(str, self._reading.dialect.server_version_info or ()))
        return f"{'SQLite' if self._reading.dialect.name == 'sqlite' else 'PostgreSQL'} {version}"

    def damage(self) -> list[str]:
        """What the database finds wrong with its file, without changing anything; a server looks after its own."""
        with self._read() as connection:
            return find_damage(connection)

    def create_run(
        self, record: RunRecord, cases: Iterable[TestCase], *, finish: Callable[[], RunRecord] | None = None
    ) -> None:
        """Store a new run with all its cases, or nothing.

        Args:
            record: The run as known so far.
            cases: A stream of any length, read once.
            finish: Called after the last case; returns the complete record, such as with the number of cases.
        """
        run_id = record.plan.run_id
        rows = (case_row(run_id, at, case) for at, case in enumerate(cases))
        with self._write(quick=False) as connection:
            try:
                connection.execute(insert(RUNS).values(run_row(record)))
                while chunk := list(islice(rows, _CHUNK)):
                    insert_rows(connection, CASES, chunk)
            except (IntegrityError, sqlite3.IntegrityError) as error:
                raise StoreError(
                    f"Run {run_id} cannot be added to {self._database.where}: it already exists, or two of its cases "
                    "have the same id. Nothing was changed."
                ) from error
            if finish is not None:
                connection.execute(update(RUNS).where(RUNS.c.run_id == run_id).values(run_row(finish())))

    def run(self, run_id: str) -> RunRecord:
        """Return the run that a name means."""
        with self._read() as connection:
            full = find_run(connection, run_id)
            row = connection.execute(select(RUNS).where(RUNS.c.run_id == full)).one()
        return self._record(row)

    def runs(self, limit: int | None = None) -> list[RunRecord]:
        """All runs, newest first."""
        newest = select(RUNS).order_by(RUNS.c.started_at.desc(), RUNS.c.run_id.desc()).limit(limit)
        with self._read() as connection:
            return [self._record(row) for row in connection.execute(newest)]

    def compared(self, run_id: str) -> StoredRun:
        """Return the run with this name, to be compared. Unfinished without an owner, it is `interrupted`."""
        record = self.run(run_id)
        full = record.plan.run_id
        gone = record.status == "running" and self.owner(full) is None
        return StoredRun(self._read, record, self.run_line(full, interrupted=[full] if gone else ()))

    def start_run(self, run_id: str, started_at: str) -> None:
        """Mark the run as running since `started_at`, and clear the end time and reason of an earlier stop.

        A stop requested while it was running before is forgotten; one requested while it was queued is not. It no
        longer waits in the queue.
        """
        with self._write() as connection:
            leave_queue(connection, run_id, ended_at=started_at)  # first, in the same order as a request to cancel it
            check_owner(connection, self._leases.get(run_id))
            self._set(connection, run_id, start_values(started_at))

    def update_run(
        self,
        run_id: str,
        *,
        status: RunStatus,
        ended_at: str | None = None,
        stop_reason: str | None = None,
        summary: RunResult | None = None,
    ) -> None:
        """Set the run's status; its end time and stop reason are overwritten, even with None.

        An existing summary is kept if none is passed. When a run has ended, its cases are also stored as columns.
        """
        if ended_at is not None:
            self._store_columns(run_id)
        values = {"status": status, "ended_at": ended_at, "stop_reason": clean_or_none(stop_reason)}
        if summary is not None:
            values |= summary_columns(summary)
        with self._write_run(run_id) as connection:
            self._set(connection, run_id, values)

    def _store_columns(self, run_id: str) -> None:
        """One piece at a time, so that other runs can be written meanwhile."""
        with self._read() as connection:
            starts = piece_starts(connection, run_id)
        for start in starts:
            with self._write_run(run_id) as connection:
                write_piece(connection, run_id, start)

    def cases(self, run_id: str, *, start: int = 0, limit: int = 256) -> list[StoredCase]:
        """Cases in file order, starting at a position."""
        wanted = select(CASES.c.position, CASES.c.data).where(CASES.c.run_id == run_id, CASES.c.position >= start)
        with self._read() as connection:
            rows = connection.execute(wanted.order_by(CASES.c.position).limit(limit)).all()
        with self._readable(run_id):
            return [StoredCase(position, _CASE.decode(data)) for position, data in rows]

    def case_ids(self, run_id: str) -> Iterator[str]:
        """Ids of a run's cases, in file order."""
        start = 0
        while True:
            later = (CASES.c.run_id == run_id, CASES.c.position >= start)
            wanted = select(CASES.c.position, CASES.c.case_id).where(*later).order_by(CASES.c.position)
            with self._read() as connection:
                rows = connection.execute(wanted.limit(_IDS_AT_ONCE)).all()
            if not rows:
                return
            yield from (case_id for _, case_id in rows)
            start = rows[-1][0] + 1

    def units(self, run_id: str, case_ids: Sequence[str]) -> dict[str, list[Unit]]:
        """Finished units by case id, ordered by kind, sample, attempt and repeat; an empty list if there are none."""
        with self._read() as connection:
            return read_units(connection, run_id, case_ids)

    def has_failures(self, run_id: str) -> bool:
        """Whether any unit of the run failed, such as one of several judgements of an answer."""
        failed = select(UNITS.c.name).where(UNITS.c.run_id == run_id, ~UNITS.c.ok).limit(1)
        with self._read() as connection:
            return connection.execute(failed).first() is not None

    def finished(self, names: Sequence[bytes]) -> dict[bytes, Unit]:
        """Successful units of any run with one of these names; if several have one name, that of the newest run."""
        if not self._names_are_indexed:
            with self._write() as connection:
                index_names(connection)
            self._names_are_indexed = True
        with self._read() as connection:
            return find_units(connection, names)

    def prepared(self, names: Sequence[bytes]) -> dict[bytes, Unit]:
        """The same of preparations, which belong to no case."""
        with self._read() as connection:
            return find_units(connection, names, prepared=True)

    def add_labels(self, labels: Iterable[Label]) -> None:
        """Add all labels or none. Existing labels are not changed: a new opinion is another label."""
        with self._write() as connection:
            try:
                insert_labels(connection, labels)
            except IntegrityError as error:
                raise StoreError(
                    f"The labels cannot be added to {self._database.where}: it does not contain their run. "
                    "Nothing was changed."
                ) from error

    def labels(
        self, run_id: str | None = None, *, case_id: str | None = None, metric: str | None = None
    ) -> list[Label]:
        """Labels of one run, or all, in the order they were added; of one case or on one metric only, if given."""
        with self._read() as connection:
            return read_labels(connection, run_id, case_id, metric)

    def delete_run(self, run_id: str, *, with_labels: bool = False) -> None:
        """Delete a run and everything that belongs to it.

        Raises:
            RunBusyError: A process is working on it.
            PinnedRunError: It is a baseline.
            LabelledRunError: It has labels, and `with_labels` is not set.
        """
        with self.own(run_id):
            with self._write_run(run_id) as connection:
                refuse_pinned(connection, run_id)
                if not with_labels:
                    refuse_labelled(connection, run_id)
                if not connection.execute(delete(RUNS).where(RUNS.c.run_id == run_id)).rowcount:
                    raise unknown_run(connection, run_id)
            self._database.ownership.forget(run_id)

    def writer(
        self, run_id: str, *, flush_at: int = 16, on_commit: Callable[[float], None] | None = None
    ) -> LedgerWriter:
        """Start a writer for a stored run. Close it before closing the store."""
        return LedgerWriter(
            self._writing,
            self._database.where,
            run_id,
            lease=self._leases.get(run_id),
            flush_at=flush_at,
            on_commit=on_commit,
        )

    def _record(self, row: Row[Any]) -> RunRecord:
        with self._readable(row.run_id):
            plan = _PLAN.decode(row.plan)
        return RunRecord(
            plan=plan,
            status=row.status,
            started_at=row.started_at,
            ended_at=row.ended_at,
            stop_reason=row.stop_reason,
        )


_PLAN = msgspec.json.Decoder(RunPlan)
_CASE = msgspec.json.Decoder(TestCase)
