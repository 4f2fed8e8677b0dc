"""Reads everything that belongs to a run, a few rows at a time, and tells whether two stores have the same."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import select

from prompt_evaluator.store.migrate import explained
from prompt_evaluator.store.run_tables import RUN, RUN_TABLES
from prompt_evaluator.store.texts import storable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from sqlalchemy import Column, Connection, Table

    from prompt_evaluator.store.run_tables import RunTable

    Rows = Sequence[tuple[Any, ...]]
    OnRows = Callable[[int], None]

_ROWS_AT_ONCE = 256
"""Answers may be long, so this bounds the memory."""
_ALL = 1 << 128
_encode = msgspec.msgpack.Encoder().encode


class Fingerprint(NamedTuple):
    """Identifies the rows of a table, whatever their order."""

    rows: int
    total: int


class RunReader:
    """One run in one store, as it was when reading began."""

    def __init__(self, connection: Connection, where: str, run_id: str) -> None:
        self._connection, self._where = connection, where
        self.run_id = run_id

    def chunks(self, table: RunTable) -> Iterator[Rows]:
        """The rows of the run, in the order of their numbers if they have any."""
        wanted = select(*table.columns).where(table.of_run(self.run_id))
        if table.number is not None:
            wanted = wanted.order_by(table.number)
        streamed = wanted.execution_options(stream_results=True, yield_per=_ROWS_AT_ONCE)
        # An error here is not one of the store that these rows are written to.
        with explained(self._where), self._connection.execute(streamed) as result:
            for part in result.partitions():
                yield [tuple(row) for row in part]

    def numbers(self, table: RunTable) -> list[int]:
        """The numbers of the rows of the run, in order."""
        (number,) = table.table.primary_key
        wanted = select(number).where(table.of_run(self.run_id)).order_by(number)
        with explained(self._where):
            return list(self._connection.scalars(wanted))

    def difference(self, other: RunReader, on_rows: OnRows) -> list[str]:
        """Names of tables in which the other store has something else of this run."""
        if self._fingerprint(RUN, on_rows) != other._fingerprint(RUN, on_rows):
            return ["record"]
        return [
            table.name
            for table in RUN_TABLES
            if self._fingerprint(table, on_rows) != other._fingerprint(table, on_rows)
        ]

    def _fingerprint(self, table: RunTable, on_rows: OnRows) -> Fingerprint:
        """Numbers that the database chose are replaced by the place of the row among those of the run."""
        if table.number is not None:
            return _fingerprint(self._without(table), on_rows)
        if table.parent is not None:
            return _fingerprint(self._placed(table, *table.parent), on_rows)
        return _fingerprint(self.chunks(table), on_rows)

    def _without(self, table: RunTable) -> Iterator[Rows]:
        at, place = _place(table, table.number), 0
        for rows in self.chunks(table):
            yield [(*row[:at], number, *row[at + 1 :]) for number, row in enumerate(rows, place)]
            place += len(rows)

    def _placed(self, table: RunTable, column: Column[Any], parent: Table) -> Iterator[Rows]:
        numbered = next(each for each in RUN_TABLES if each.table is parent)
        places = {number: place for place, number in enumerate(self.numbers(numbered))}
        at = _place(table, column)
        for rows in self.chunks(table):
            yield [(*row[:at], places[row[at]], *row[at + 1 :]) for row in rows]


def _fingerprint(chunks: Iterable[Rows], on_rows: OnRows) -> Fingerprint:
    count = total = 0
    for rows in chunks:
        for row in rows:
            data = _encode(row)
            if b"\x00" in data and any(isinstance(value, str) and "\x00" in value for value in row):
                data = _encode([storable(value) if isinstance(value, str) else value for value in row])
            total += int.from_bytes(blake2b(data, digest_size=16).digest(), "little")
        count += len(rows)
        on_rows(len(rows))
    return Fingerprint(count, total % _ALL)


def _place(table: RunTable, column: object) -> int:
    return next(at for at, each in enumerate(table.columns) if each is column)
