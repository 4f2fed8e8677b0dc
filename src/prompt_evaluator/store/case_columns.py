"""Cases of a run as columns: stored when a run has ended, and made from result rows before (see `case_piece`).

Whatever changes rows of a run, a `LedgerWriter` or `delete_results`, deletes its columns first. So stored columns say
the same as rows, which are read where columns are not stored: of runs in progress, and of those that were stopped.
"""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from sqlalchemy import delete, func, insert, select

from prompt_evaluator.model.case_columns import (
    CASES_AT_ONCE,
    FLAKY,
    HAS_ERRORS,
    CaseColumns,
    CaseKinds,
    CaseStates,
    IdColumn,
)
from prompt_evaluator.model.query import CaseProblems
from prompt_evaluator.store.case_piece import Piece
from prompt_evaluator.store.packing import encoded_parts
from prompt_evaluator.store.result_tables import CASE_COLUMNS, CASE_RESULTS
from prompt_evaluator.store.schema import CASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from sqlalchemy import Column, Connection

    Read = Callable[[], AbstractContextManager[Connection]]

_QUICK = 1
"""Level of compression: most columns repeat few values, which any level makes small."""
_columns = msgspec.msgpack.Decoder(CaseColumns).decode
_ids = msgspec.msgpack.Decoder(IdColumn).decode
T = TypeVar("T")


def piece_starts(connection: Connection, run_id: str) -> range:
    """The position of the first case of each piece."""
    return range(0, count_all(connection, run_id), CASES_AT_ONCE)


def count_all(connection: Connection, run_id: str) -> int:
    """How many cases a run has, done or not, without reading them: their positions have no gaps."""
    last = connection.scalar(select(func.max(CASES.c.position)).where(CASES.c.run_id == run_id))
    return 0 if last is None else last + 1


def delete_columns(connection: Connection, run_id: str) -> None:
    connection.execute(delete(CASE_COLUMNS).where(CASE_COLUMNS.c.run_id == run_id))


def write_piece(connection: Connection, run_id: str, start: int) -> None:
    """Store the columns of the cases from `start` on."""
    piece = Piece(connection, run_id, start)
    states = CaseStates((), piece.sums.states)
    row = {
        "run_id": run_id,
        "position": start,
        "digest": piece.texts.digest,
        "latency_ms": piece.sums.latency_ms,
        "timed": piece.sums.timed,
        "flaky": states.count(FLAKY),
        "errors": states.count(HAS_ERRORS),
        "ids": _packed(piece.texts.ids),
        "data": _packed(piece.columns()),
    }
    there = (CASE_COLUMNS.c.run_id == run_id, CASE_COLUMNS.c.position == start)
    connection.execute(delete(CASE_COLUMNS).where(*there))
    connection.execute(insert(CASE_COLUMNS).values(row))


def read_problems(connection: Connection, run_id: str) -> CaseProblems:
    """How many cases of a run are flaky, and how many have errors."""
    row = CASE_COLUMNS.c
    sums = _sums(connection, run_id, row.flaky, row.errors)
    if sums is None:
        result = CASE_RESULTS.c
        counts = select(func.count().filter(result.flaky), func.count(result.error_kinds))
        sums = tuple(connection.execute(counts.where(result.run_id == run_id)).one())
    return CaseProblems(*sums)


def are_stored(connection: Connection, run_id: str) -> bool:
    """Whether the columns of all cases of a run can be read without reading rows."""
    return _sums(connection, run_id) is not None


def _sums(connection: Connection, run_id: str, *columns: Column[Any]) -> tuple[Any, ...] | None:
    """Sums over all pieces of a run; None if one of them is not stored."""
    wanted = select(func.count(), *map(func.sum, columns)).where(CASE_COLUMNS.c.run_id == run_id)
    pieces, *sums = connection.execute(wanted).one()
    return tuple(sums) if pieces and pieces == len(piece_starts(connection, run_id)) else None


class StoredColumns:
    """Reads the columns of one run."""

    def __init__(self, read: Read, run_id: str) -> None:
        self._read, self._run_id = read, run_id

    def pieces(self) -> Iterator[CaseColumns]:
        """All cases in file order."""
        return self._unpacked(CASE_COLUMNS.c.data, _columns, Piece.columns)

    def kinds(self) -> Iterator[CaseKinds]:
        """The metadata of the same cases."""
        return self._unpacked(CASE_COLUMNS.c.data, _kinds, lambda piece: piece.texts.kinds)

    def ids(self) -> Iterator[IdColumn]:
        """The ids of the same cases."""
        return self._unpacked(CASE_COLUMNS.c.ids, _ids, lambda piece: piece.texts.ids)

    def _unpacked(self, column: Column[bytes], decode: Callable[[bytes], T], make: Callable[[Piece], T]) -> Iterator[T]:
        own = CASE_COLUMNS.c.run_id == self._run_id
        for start in self._starts():
            with self._read() as connection:
                data = connection.scalar(select(column).where(own, CASE_COLUMNS.c.position == start))
                made = make(Piece(connection, self._run_id, start)) if data is None else None
            yield made or decode(zlib.decompress(data or b""))  # the connection is free again for the other run

    def digests(self) -> list[bytes]:
        """For each piece, a hash of the ids and contents of its cases."""
        row = CASE_COLUMNS.c
        found: list[bytes] = []
        with self._read() as connection:
            wanted = select(row.position, row.digest).where(row.run_id == self._run_id)
            known = {position: digest for position, digest in connection.execute(wanted)}  # noqa: C416 - not tuples
        for start in self._starts():
            with self._read() as connection:
                found.append(known[start] if start in known else Piece(connection, self._run_id, start).texts.digest)
        return found

    def mean_latency(self) -> float | None:
        """Over all cases that have one."""
        row = CASE_COLUMNS.c
        with self._read() as connection:
            if (sums := _sums(connection, self._run_id, row.latency_ms, row.timed)) is None:
                own = CASE_RESULTS.c.run_id == self._run_id
                mean: float | None = connection.scalar(select(func.avg(CASE_RESULTS.c.latency_ms)).where(own))
                return mean
        total, cases = sums
        return total / cases if cases else None

    def _starts(self) -> range:
        with self._read() as connection:
            return piece_starts(connection, self._run_id)


def _kinds(data: bytes) -> CaseKinds:
    columns = _columns(data)
    return CaseKinds(columns.size, columns.metadata, columns.kinds)


def _packed(columns: msgspec.Struct) -> bytes:
    compressor = zlib.compressobj(_QUICK)
    return b"".join(map(compressor.compress, encoded_parts(columns))) + compressor.flush()
