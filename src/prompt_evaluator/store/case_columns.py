"""Cases of a run as columns: made from result rows, and stored when a run has ended.

Whatever changes rows of a run, a `LedgerWriter` or `delete_results`, deletes its columns first. So stored columns say
the same as rows, which are read where columns are not stored: of runs in progress, and of those that were stopped.
"""

from __future__ import annotations

import math
import sys
import zlib
from array import array
from collections import Counter
from functools import reduce
from hashlib import sha256
from itertools import repeat
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import msgspec
from sqlalchemy import and_, case, delete, func, insert, select

from prompt_evaluator.model.case_columns import (
    CASES_AT_ONCE,
    DONE,
    FAILING,
    FLAGGED,
    FLAKY,
    HAS_ERRORS,
    HAS_RESULT,
    CaseColumns,
    CaseKinds,
    FlagColumns,
    IdColumn,
    ScoreColumns,
)
from prompt_evaluator.model.query import CaseProblems
from prompt_evaluator.store.result_tables import CASE_COLUMNS, CASE_FLAGS, CASE_METRICS, CASE_RESULTS, SCORES
from prompt_evaluator.store.schema import CASES, RUNS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from sqlalchemy import Column, ColumnElement, Connection, Select, Table

    Read = Callable[[], AbstractContextManager[Connection]]

_SWAPS = sys.byteorder == "big"
_QUICK = 1
"""Level of compression: most columns repeat few values, which any level makes small."""
_columns = msgspec.msgpack.Decoder(CaseColumns).decode
_ids = msgspec.msgpack.Decoder(IdColumn).decode
_AT_ONCE = 1_024
"""Scores read at a time: there may be too many to hold an object for each."""
T = TypeVar("T")
_row = CASE_RESULTS.c
_BITS = {
    HAS_RESULT: _row.position.is_not(None),
    FAILING: _row.failing,
    FLAGGED: _row.flagged,
    HAS_ERRORS: _row.error_kinds.is_not(None),
    FLAKY: _row.flaky,
    DONE: _row.status != "pending",
}
STATE: ColumnElement[int] = reduce(add, (case((holds, bit), else_=0) for bit, holds in _BITS.items()))
"""The state of a case, from its row in `case_results`, which may be missing in an outer join."""


class Latency(NamedTuple):
    """Of the cases that have one."""

    total_ms: float
    cases: int


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
    piece = _Piece(connection, run_id, start)
    latency, (flaky, errors) = piece.latency(), piece.problems()
    row = {
        "run_id": run_id,
        "position": start,
        "digest": piece.digest(),
        "latency_ms": latency.total_ms,
        "timed": latency.cases,
        "flaky": flaky,
        "errors": errors,
        "ids": _packed(piece.ids()),
        "data": _packed(piece.columns()),
    }
    there = (CASE_COLUMNS.c.run_id == run_id, CASE_COLUMNS.c.position == start)
    connection.execute(delete(CASE_COLUMNS).where(*there))
    connection.execute(insert(CASE_COLUMNS).values(row))


def write_ended_runs(connection: Connection) -> None:
    """Store the columns of all runs that have ended, in a store of a version without columns."""
    for run_id in connection.scalars(select(RUNS.c.run_id).where(RUNS.c.ended_at.is_not(None))).all():
        for start in piece_starts(connection, run_id):
            write_piece(connection, run_id, start)


def read_problems(connection: Connection, run_id: str) -> CaseProblems:
    """How many cases of a run are flaky, and how many have errors."""
    row = CASE_COLUMNS.c
    sums = _sums(connection, run_id, row.flaky, row.errors)
    return CaseProblems(*(sums or _problems(connection, CASE_RESULTS.c.run_id == run_id)))


def are_stored(connection: Connection, run_id: str) -> bool:
    """Whether the columns of all cases of a run can be read without reading rows."""
    return _sums(connection, run_id) is not None


def _sums(connection: Connection, run_id: str, *columns: Column[Any]) -> tuple[Any, ...] | None:
    """Sums over all pieces of a run; None if one of them is not stored."""
    wanted = select(func.count(), *map(func.sum, columns)).where(CASE_COLUMNS.c.run_id == run_id)
    pieces, *sums = connection.execute(wanted).one()
    return tuple(sums) if pieces and pieces == len(piece_starts(connection, run_id)) else None


def _problems(connection: Connection, *own: ColumnElement[bool]) -> tuple[int, int]:
    row = CASE_RESULTS.c
    flaky, errors = func.count().filter(row.flaky), func.count(row.error_kinds)
    found = connection.execute(select(flaky, errors).where(*own)).one()
    return found[0], found[1]


class StoredColumns:
    """Reads the columns of one run."""

    def __init__(self, read: Read, run_id: str) -> None:
        self._read, self._run_id = read, run_id

    def pieces(self) -> Iterator[CaseColumns]:
        """All cases in file order."""
        return self._unpacked(CASE_COLUMNS.c.data, _columns, _Piece.columns)

    def kinds(self) -> Iterator[CaseKinds]:
        """The metadata of the same cases."""
        return self._unpacked(CASE_COLUMNS.c.data, _kinds, _Piece.kinds)

    def ids(self) -> Iterator[IdColumn]:
        """The ids of the same cases."""
        return self._unpacked(CASE_COLUMNS.c.ids, _ids, _Piece.ids)

    def _unpacked(
        self, column: Column[bytes], decode: Callable[[bytes], T], make: Callable[[_Piece], T]
    ) -> Iterator[T]:
        own = CASE_COLUMNS.c.run_id == self._run_id
        for start in self._starts():
            with self._read() as connection:
                data = connection.scalar(select(column).where(own, CASE_COLUMNS.c.position == start))
                made = make(_Piece(connection, self._run_id, start)) if data is None else None
            yield made or decode(zlib.decompress(data or b""))  # the connection is free again for the other run

    def digests(self) -> list[bytes] | None:
        """For each piece, a hash of the ids and contents of its cases; None if a content is unknown."""
        row = CASE_COLUMNS.c
        found: list[bytes] = []
        with self._read() as connection:
            wanted = select(row.position, row.digest).where(row.run_id == self._run_id)
            known = {position: digest for position, digest in connection.execute(wanted)}  # noqa: C416 - not tuples
        for start in self._starts():
            with self._read() as connection:
                digest = known[start] if start in known else _Piece(connection, self._run_id, start).digest()
            if digest is None:
                return None
            found.append(digest)
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


class _Piece:
    """Makes the columns of some cases from their rows."""

    def __init__(self, connection: Connection, run_id: str, start: int) -> None:
        self._connection, self._run_id, self._start = connection, run_id, start
        self._size: int = connection.scalar(select(func.count()).where(*self._own(CASES))) or 0

    def latency(self) -> Latency:
        row = CASE_RESULTS.c
        wanted = select(func.sum(row.latency_ms), func.count(row.latency_ms)).where(*self._own(CASE_RESULTS))
        total, cases = self._connection.execute(wanted).one()
        return Latency(total or 0.0, cases)

    def problems(self) -> tuple[int, int]:
        return _problems(self._connection, *self._own(CASE_RESULTS))

    def digest(self) -> bytes | None:
        row = CASES.c
        wanted = select(row.case_id, row.content_hash).where(*self._own(CASES)).order_by(row.position)
        rows = self._rows(wanted)
        if any(content is None for _, content in rows):
            return None
        return sha256(msgspec.msgpack.encode(rows)).digest()

    def ids(self) -> IdColumn:
        row = CASES.c
        rows = self._rows(select(row.case_id).where(*self._own(CASES)).order_by(row.position))
        ids = [case_id.encode("utf-8", "surrogatepass") for (case_id,) in rows]
        return IdColumn(b"".join(ids), _counts(map(len, ids)))

    def kinds(self) -> CaseKinds:
        row = CASES.c
        rows = self._rows(select(row.metadata).where(*self._own(CASES)).order_by(row.position))
        texts: dict[str, int] = {}
        kinds = [texts.setdefault("" if text in (None, "{}") else text, len(texts)) for (text,) in rows]
        return CaseKinds(self._size, list(texts), _counts(kinds, usual=0))

    def columns(self) -> CaseColumns:
        _, texts, kinds = self.kinds()
        return CaseColumns(self._size, self._states(), list(texts), kinds, self._metrics(), self._flags())

    def _states(self) -> bytes:
        states = bytearray(self._size)
        for position, state in self._rows(select(_row.position, STATE).where(*self._own(CASE_RESULTS))):
            states[position - self._start] = state
        return bytes(states)

    def _metrics(self) -> dict[str, ScoreColumns]:
        return {name: self._scores(name) for name in self._measured()}

    def _measured(self) -> list[str]:
        """The metrics with a mean, in the order in which they are first met."""
        row = CASE_METRICS.c
        wanted = select(row.metric).where(*self._own(CASE_METRICS), row.mean.is_not(None)).group_by(row.metric)
        return [name for (name,) in self._rows(wanted.order_by(func.min(row.position), row.metric))]

    def _scores(self, metric: str) -> ScoreColumns:
        row = CASE_METRICS.c
        columns = (row.position, row.mean, row.std, row.min, row.max, row["count"], row.missing)
        wanted = select(*columns).where(*self._own(CASE_METRICS), row.metric == metric, row.mean.is_not(None))
        rows = self._rows(wanted.order_by(row.position))
        positions, means, stds, lows, highs, counts, missing = zip(*rows, strict=True)
        single = all(count == 1 for count in counts)
        sizes, scores = ((), array("d")) if single else self._values(metric, positions, lows, highs, counts)
        return ScoreColumns(
            self._places(positions),
            _numbers(means),
            _numbers(stds) if any(std is not None for std in stds) else b"",
            _counts(counts, usual=1),
            _counts(missing, usual=0),
            _counts(sizes),
            _little_endian(scores),
        )

    def _values(
        self,
        metric: str,
        positions: Sequence[int],
        lows: Sequence[float],
        highs: Sequence[float],
        counts: Sequence[int],
    ) -> tuple[Sequence[int], array[float]]:
        """How many scores of samples each case with a mean has, and all of them.

        Only scores that differ within their case are read; the others are the case's lowest score.
        """
        read, values = self._different_scores(metric) if lows != highs else (Counter[int](), array("d"))
        sizes, scores, start = list[int](), array("d"), 0
        for position, low, high, count in zip(positions, lows, highs, counts, strict=True):
            size = count if low == high else read[position]
            sizes.append(size)
            if low == high:
                scores.extend(repeat(low, size))
            else:
                scores += values[start : start + size]
                start += size
        return sizes, scores

    def _different_scores(self, metric: str) -> tuple[Counter[int], array[float]]:
        """How many scores each case has in which they differ, and all of them in file order; there may be many."""
        sizes, scores = Counter[int](), array("d")
        row, measured = SCORES.c, CASE_METRICS.c
        same = and_(row.run_id == measured.run_id, row.position == measured.position, row.metric == measured.metric)
        wanted = select(row.position, row.value).join_from(CASE_METRICS, SCORES, same)
        wanted = wanted.where(*self._own(CASE_METRICS), measured.metric == metric, measured.min != measured.max)
        with self._connection.execute(wanted.where(row.value.is_not(None)).order_by(row.position, row.sample)) as found:
            while some := found.cursor.fetchmany(_AT_ONCE):
                sizes.update([position for position, _ in some])
                scores.extend([value for _, value in some])
        return sizes, scores

    def _flags(self) -> dict[str, FlagColumns]:
        row = CASE_FLAGS.c
        wanted = select(row.flag, row.position, row.raised, row.asked).where(*self._own(CASE_FLAGS), row.asked > 0)
        found = _by_name(self._rows(wanted.order_by(row.position, row.flag)))
        return {
            name: FlagColumns(self._places(positions), _counts(raised), _counts(asked))
            for name, (positions, raised, asked) in found.items()
        }

    def _places(self, positions: Sequence[int]) -> bytes:
        """Empty for all cases of the piece."""
        if len(positions) == self._size:
            return b""
        return _counts(position - self._start for position in positions)

    def _own(self, table: Table) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        last = self._start + CASES_AT_ONCE - 1
        return table.c.run_id == self._run_id, table.c.position.between(self._start, last)

    def _rows(self, wanted: Select[Any]) -> list[tuple[Any, ...]]:
        """As the driver has them: a `Row` of SQLAlchemy for each would double the time."""
        with self._connection.execute(wanted) as found:
            return list(found.cursor.fetchall())


def _kinds(data: bytes) -> CaseKinds:
    columns = _columns(data)
    return CaseKinds(columns.size, columns.metadata, columns.kinds)


def _by_name(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    """Columns by the name that each row begins with."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return {name: list(zip(*some, strict=True))[1:] for name, some in found.items()}


def _packed(columns: msgspec.Struct) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(columns), _QUICK)


def _counts(values: Iterable[int], usual: int | None = None) -> bytes:
    """Empty if all are the usual number."""
    column = array("I", values)
    if usual is not None and column.count(usual) == len(column):
        return b""
    return _little_endian(column)


def _numbers(values: Iterable[float | None]) -> bytes:
    return _little_endian(array("d", (math.nan if value is None else value for value in values)))


def _little_endian(values: array[Any]) -> bytes:
    if _SWAPS:
        values.byteswap()
    return values.tobytes()
