"""Bulk inserts."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.store.result_tables import CASE_FLAGS, CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.schema import CASES, UNITS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from sqlalchemy import Connection, Table

    Row = tuple[Any, ...]

_COLUMNS = {
    table.name: tuple(table.c.keys())
    for table in (UNITS, CASES, CASE_RESULTS, CASE_METRICS, CASE_FLAGS, SAMPLE_RESULTS)
}
_TAILS = {
    "units": " ON CONFLICT (run_id, case_id, name) DO UPDATE SET kind = excluded.kind, sample = excluded.sample,"
    " repeat = excluded.repeat, ok = excluded.ok, data = excluded.data, attempt = excluded.attempt WHERE NOT units.ok"
}
_MOSTLY_EQUAL: dict[str, tuple[tuple[str, ...], ...]] = {
    "units": (("run_id",), ("repeat", "ok", "attempt")),
    "cases": (("run_id",),),
    "case_results": (("run_id",), ("status", "error_kinds", "error_message")),
    "case_metrics": (("run_id",), ("missing", "repeat_std")),
    "case_flags": (("run_id",),),
    "sample_results": (
        ("run_id",),
        ("cost", "judge_cost"),
        ("attempt", "status", "tries", "model", "finish_reason", "error_kind", "error_message", "error_metric"),
        ("answer_hash", "tool_calls", "earlier_attempts", "reused", "judges"),
    ),
}
"""Groups of columns that usually have one value in all rows of a statement: it is then bound once, because SQLite's
driver spends half its time on binding, with the GIL. Groups, because every combination is another cached statement."""
_MOST_ROWS, _STEP = 256, 16
"""The widest table has 28 columns, so this is far below the limit of 32,766 values per statement."""


def insert_units(connection: Connection, rows: Iterable[Row]) -> None:
    """Write units with distinct keys. Stored units that are ok stay; failed ones are replaced."""
    _insert(connection, UNITS, list(chain.from_iterable(rows)), size=lambda left: left - left % _STEP or left)


def insert_rows(connection: Connection, table: Table, rows: Iterable[Row]) -> None:
    """Write full rows, with values in the order of the table's columns."""
    insert_values(connection, table, list(chain.from_iterable(rows)))


def insert_values(connection: Connection, table: Table, values: list[Any]) -> None:
    """Write full rows, given as the values of one row after the other."""
    # Powers of two: statements for many wide rows take memory, and the driver caches them.
    _insert(connection, table, values, size=lambda left: 1 << left.bit_length() - 1)


def _insert(connection: Connection, table: Table, values: list[Any], *, size: Callable[[int], int]) -> None:
    """Use few statements, because each releases the GIL, and of few sizes, because each one is cached."""
    name, start = table.name, 0
    width = len(_COLUMNS[name])
    while left := (len(values) - start) // width:
        rows = size(min(left, _MOST_ROWS))
        end = start + rows * width
        if connection.dialect.name == "sqlite":
            columns = [values[first:end:width] for first in range(start, start + width)]
            same = tuple([all(_is_same(columns[at]) for at in group) for group in _groups(name)])
            statement = _sharing_statement(name, same, rows)
            # Not through SQLAlchemy, which takes twenty times as long as the driver for a small statement.
            connection.connection.cursor().execute(statement.text, statement.bound(columns))
        else:
            connection.exec_driver_sql(_statement(name, rows), tuple(values[start:end]))
        start = end


def _is_same(column: list[Any]) -> bool:
    return column.count(column[0]) == len(column)


@cache
def _groups(table: str) -> list[list[int]]:
    return [[_COLUMNS[table].index(name) for name in group] for group in _MOSTLY_EQUAL[table]]


class _Sharing(NamedTuple):
    """A statement for SQLite that binds some columns once."""

    text: str
    once: list[int]
    each: list[int]
    """Columns that it binds for each row, after the others."""

    def bound(self, columns: list[list[Any]]) -> list[Any]:
        varying = [columns[at] for at in self.each]
        return [columns[at][0] for at in self.once] + list(chain.from_iterable(zip(*varying, strict=True)))


@cache
def _sharing_statement(table: str, same: tuple[bool, ...], rows: int) -> _Sharing:
    places = range(len(_COLUMNS[table]))
    once = [at for group, equal in zip(_groups(table), same, strict=True) if equal for at in group]
    each = [at for at in places if at not in once]
    numbers = {at: f"?{number}" for number, at in enumerate([*once, *each], 1)}
    first = [numbers[at] for at in places]
    others = [numbers[at] if at in once else "?" for at in places]  # `?` is one more than the greatest yet
    return _Sharing(_text(table, [first, *[others] * (rows - 1)]), once, each)


@cache
def _statement(table: str, rows: int) -> str:
    return _text(table, [["%s"] * len(_COLUMNS[table])] * rows)


def _text(table: str, marks: list[list[str]]) -> str:
    listed = ", ".join([f"({', '.join(row)})" for row in marks])
    # Names and marks are constants of this package; every value is bound.
    return f"INSERT INTO {table} ({', '.join(_COLUMNS[table])}) VALUES {listed}{_TAILS.get(table, '')}"  # noqa: S608
