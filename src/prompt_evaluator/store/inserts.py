"""Bulk inserts."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from prompt_evaluator.store.result_tables import CASE_FLAGS, CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS, SCORES
from prompt_evaluator.store.schema import CASES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection, Table

_UNIT_COLUMNS = ("run_id", "case_id", "name", "kind", "sample", "repeat", "ok", "data", "attempt")
_KEEP_WHAT_IS_OK = (
    " ON CONFLICT (run_id, case_id, name) DO UPDATE SET kind = excluded.kind, sample = excluded.sample,"
    " repeat = excluded.repeat, ok = excluded.ok, data = excluded.data, attempt = excluded.attempt WHERE NOT units.ok"
)
_COLUMNS = {
    table: tuple(table.c.keys()) for table in (CASES, CASE_RESULTS, CASE_METRICS, CASE_FLAGS, SAMPLE_RESULTS, SCORES)
}
_MOST_ROWS, STEP = 256, 16
"""The widest table has 25 columns, so this is far below the limit of 32,766 values per statement."""


def insert_units(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write units with distinct keys. Stored units that are ok stay; failed ones are replaced."""
    _insert(connection, "units", _UNIT_COLUMNS, rows, _KEEP_WHAT_IS_OK, size=lambda left: left - left % STEP or left)


def insert_rows(connection: Connection, table: Table, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write full rows, with values in the order of the table's columns."""
    # Powers of two: statements for many wide rows take memory, and the driver caches them.
    _insert(connection, table.name, _COLUMNS[table], rows, size=lambda left: 1 << left.bit_length() - 1)


def _insert(  # noqa: PLR0913 - what, where and how
    connection: Connection,
    table: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    tail: str = "",
    *,
    size: Callable[[int], int],
) -> None:
    """Use few statements, because each releases the GIL, and of few sizes, because each one is cached."""
    mark = _mark(connection)
    start = 0
    while left := len(rows) - start:
        end = start + size(min(left, _MOST_ROWS))
        statement = _statement(table, columns, tail, mark, end - start)
        connection.exec_driver_sql(statement, tuple(chain.from_iterable(rows[start:end])))
        start = end


def _mark(connection: Connection) -> str:
    return "?" if connection.dialect.paramstyle == "qmark" else "%s"


@cache
def _statement(table: str, columns: tuple[str, ...], tail: str, mark: str, rows: int) -> str:
    row = f"({', '.join([mark] * len(columns))})"
    # Names and marks are constants of this package; every value is bound.
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([row] * rows)}{tail}"  # noqa: S608
