"""Copies runs from one store to another, of the same or of another kind."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select

from prompt_evaluator.store.access import Access
from prompt_evaluator.store.dialects import ordered
from prompt_evaluator.store.migrate import FAILURES, explained
from prompt_evaluator.store.run_reader import RunReader
from prompt_evaluator.store.run_tables import BULK_TABLES, NAMED_TABLES
from prompt_evaluator.store.run_writer import RunWriter, add_named
from prompt_evaluator.store.schema import RUNS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import Connection

    from prompt_evaluator.store.run_reader import OnRows


class Copying(Access):
    """The part of a store that gives runs to another one, and takes them."""

    def run_statuses(self) -> dict[str, str]:
        """The status of every run by its id, oldest first."""
        with self._read() as connection:
            oldest = (ordered(connection, RUNS.c.started_at), ordered(connection, RUNS.c.run_id))
            rows = connection.execute(select(RUNS.c.run_id, RUNS.c.status).order_by(*oldest))
            return {run_id: status for run_id, status in rows}  # noqa: C416 - rows are not tuples

    def has_run(self, run_id: str) -> bool:
        with self._read() as connection:
            return _has_run(connection, run_id)

    @contextmanager
    def reader(self, run_id: str) -> Iterator[RunReader]:
        """Read a run as it is now, also if it is changed meanwhile."""
        engine = self._reading
        if engine.dialect.name == "postgresql":  # a file's transaction always sees one state
            engine = engine.execution_options(isolation_level="REPEATABLE READ")
        with explained(self._database.where), engine.connect() as connection:
            yield RunReader(connection, self._database.where, run_id)

    def add_copy(self, reader: RunReader, on_rows: OnRows) -> int:
        """Add a run of another store, and return the number of rows. Own the run; it must not be here yet.

        A kill leaves no run that others could see: a server undoes the transaction. A file has one writer at a time,
        so large tables are written in short transactions, and the run appears with the last one. What a killed copy
        has left of this run is deleted first.
        """
        if self._reading.dialect.name == "postgresql":
            with self._write() as connection:
                writer = RunWriter(connection, reader, on_rows)
                writer.add_run()
                for _ in writer.bulk():
                    pass
                writer.add_numbered()
            return writer.rows
        with self._unlinked() as connection:
            _delete_rows(connection, reader.run_id)
            try:
                return _write_in_steps(connection, reader, on_rows)
            except BaseException:
                with suppress(*FAILURES):  # the disk may be full; the next copy deletes them, too
                    connection.rollback()
                    if not _has_run(connection, reader.run_id):
                        _delete_rows(connection, reader.run_id)
                raise

    @contextmanager
    def _unlinked(self) -> Iterator[Connection]:
        """A connection to a file that writes rows of a run before the run itself."""
        with explained(self._database.where), self._writing.connect() as connection:
            driver: Any = connection.connection.driver_connection
            connection.detach()  # the setting ends with the connection
            driver.execute("PRAGMA foreign_keys=OFF")
            yield connection

    def named_rows(self, runs: Collection[str], *, others: bool) -> dict[str, list[dict[str, Any]]]:
        """Rows that are copied by name, by table: those about these runs, and `others` that are about no run."""
        found: dict[str, list[dict[str, Any]]] = {}
        with self._read() as connection:
            for table in NAMED_TABLES:
                rows = [dict(row) for row in connection.execute(select(table)).mappings()]
                found[table.name] = [row for row in rows if (row["run_id"] in runs if "run_id" in row else others)]
        return found

    def add_named_rows(self, found: dict[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
        """Add these rows. Return the names, by table, that mean something else here and were left as they are."""
        with self._write() as connection:
            return {
                table.name: left
                for table in NAMED_TABLES
                if (left := add_named(connection, table, found.get(table.name, [])))
            }


def _has_run(connection: Connection, run_id: str) -> bool:
    return connection.scalar(select(RUNS.c.run_id).where(RUNS.c.run_id == run_id)) is not None


def _write_in_steps(connection: Connection, reader: RunReader, on_rows: OnRows) -> int:
    writer = RunWriter(connection, reader, on_rows)
    for _ in writer.bulk():
        connection.commit()
    writer.add_run()
    writer.add_numbered()
    connection.commit()
    return writer.rows


def _delete_rows(connection: Connection, run_id: str) -> None:
    for table in reversed(BULK_TABLES):
        connection.execute(delete(table.table).where(table.of_run(run_id)))
    connection.commit()
