"""Writes everything that belongs to a run of another store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, text
from sqlalchemy.exc import DBAPIError

from prompt_evaluator.errors import StoreError
from prompt_evaluator.store.run_tables import BULK_TABLES, NUMBERED_TABLES, RUN
from prompt_evaluator.store.texts import storable
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import Column, Connection

    from prompt_evaluator.store.run_reader import OnRows, RunReader
    from prompt_evaluator.store.run_tables import RunTable

    Row = tuple[Any, ...]
    Numbers = Mapping[Any, int]

_ADVANCE = """
    SELECT setval(sequence, greatest(pg_sequence_last_value(sequence), (SELECT max({number}) FROM {table})))
    FROM (SELECT pg_get_serial_sequence('{table}', '{number}')::regclass AS sequence) AS its_own
"""
"""Numbers that were given to rows deleted since are not given again."""


class RunWriter:
    """Writes one run through one connection. Transactions are up to the caller."""

    def __init__(self, connection: Connection, reader: RunReader, on_rows: OnRows) -> None:
        self._connection, self._reader, self._on_rows = connection, reader, on_rows
        self._on_server = connection.dialect.name == "postgresql"
        self.rows = 0
        """Written so far."""

    def add_run(self) -> None:
        """Write the row that makes the run visible."""
        for rows in self._reader.chunks(RUN):
            self._add(RUN, rows)

    def bulk(self) -> Iterator[None]:
        """Write the tables that may be large, and yield after each few rows."""
        for table in BULK_TABLES:
            for rows in self._reader.chunks(table):
                self._add(table, rows)
                yield

    def add_numbered(self) -> None:
        """Write the tables with numbers. A number that is taken is replaced by a new one, also where it is used."""
        given: dict[object, Numbers] = {}
        for table in NUMBERED_TABLES:
            if table.number is not None:
                given[table.table] = self._add_numbered(table, table.number)
            elif table.parent is not None:
                column, parent = table.parent
                at = _place(table, column)
                for rows in self._reader.chunks(table):
                    self._add(table, _replaced(rows, at, given[parent]))

    def _add_numbered(self, table: RunTable, number: Column[Any]) -> Numbers:
        """Keep the numbers if all are free; otherwise raise all of them, because their order has a meaning."""
        name, at = table.table.name, _place(table, number)
        wanted = self._reader.numbers(table)
        if not wanted:
            return {}
        if self._on_server:  # no other process gets a number before this transaction ends
            self._connection.execute(text(f"LOCK TABLE {name} IN SHARE ROW EXCLUSIVE MODE"))
        raised = 0
        if any(self._connection.scalar(select(number).where(number.in_(some)).limit(1)) for some in chunks(wanted)):
            highest: int = self._connection.scalar(select(func.max(number))) or 0
            raised = max(0, highest + 1 - wanted[0])
        given = {each: each + raised for each in wanted}
        for rows in self._reader.chunks(table):
            self._add(table, _replaced(rows, at, given))
        if self._on_server:
            self._connection.execute(text(_ADVANCE.format(table=name, number=number.name)))
        return given

    def _add(self, table: RunTable, rows: Sequence[Row]) -> None:
        if self._on_server:
            self._copy(table, [self._storable(table, row) for row in rows])
        else:
            statement = _insert(table.table.name, tuple(column.name for column in table.columns))
            self._connection.exec_driver_sql(statement, list(rows))
        self.rows += len(rows)
        self._on_rows(len(rows))

    def _copy(self, table: RunTable, rows: Sequence[Row]) -> None:
        """Write rows by PostgreSQL's COPY, many times as fast as by INSERT."""
        names = ", ".join(f'"{column.name}"' for column in table.columns)
        driver: Any = self._connection.connection.driver_connection
        try:
            with driver.cursor() as cursor, cursor.copy(f"COPY {table.table.name} ({names}) FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        except self._connection.dialect.loaded_dbapi.Error as error:
            raise DBAPIError("COPY", None, error) from error

    def _storable(self, table: RunTable, row: Row) -> Row:
        """Replace NUL, which PostgreSQL refuses; in a key that would change what the row means."""
        if not any(isinstance(value, str) and "\x00" in value for value in row):
            return row
        for column, value in zip(table.columns, row, strict=True):
            is_key = column.primary_key or column.name in ("run_id", "case_id", "group_id")
            if is_key and isinstance(value, str) and "\x00" in value:
                raise StoreError(
                    f"Run {self._reader.run_id} cannot be copied: its {column.name} {value!r} contains a NUL "
                    "character, which PostgreSQL cannot store. Nothing of it was copied."
                )
        return tuple(storable(value) if isinstance(value, str) else value for value in row)


def add_named(connection: Connection, table: Any, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write rows whose name is free. Return the names that mean something else here."""
    (key,) = table.primary_key
    left: list[str] = []
    for row in rows:
        there = connection.execute(select(table).where(key == row[key.name])).mappings().first()
        if there is None:
            connection.execute(insert(table).values(dict(row)))
        elif dict(there) != dict(row):
            left.append(str(row[key.name]))
    return left


def _replaced(rows: Sequence[Row], at: int, numbers: Numbers) -> list[Row]:
    return [(*row[:at], numbers[row[at]], *row[at + 1 :]) for row in rows]


def _place(table: RunTable, column: object) -> int:
    return next(at for at, each in enumerate(table.columns) if each is column)


def _insert(table: str, columns: Sequence[str]) -> str:
    # Names are constants of this package; every value is bound.
    names = ", ".join(f'"{name}"' for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
