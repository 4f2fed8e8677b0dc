"""Makes columns of consecutive cases from their rows."""

from __future__ import annotations

import math
import sys
from array import array
from collections import defaultdict
from functools import cached_property, reduce
from hashlib import sha256
from itertools import repeat
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import case, func, select

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
from prompt_evaluator.store.result_tables import CASE_FLAGS, CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import read_values
from prompt_evaluator.store.schema import CASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection, Select, Table

_SWAPS = sys.byteorder == "big"
_AT_ONCE = 256
"""Samples whose scores are read at a time."""
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


def count_problems(connection: Connection, *own: ColumnElement[bool]) -> tuple[int, int]:
    row = CASE_RESULTS.c
    flaky, errors = func.count().filter(row.flaky), func.count(row.error_kinds)
    found = connection.execute(select(flaky, errors).where(*own)).one()
    return found[0], found[1]


class _Values:
    """Scores of samples, case after case. There may be too many to hold an object for each."""

    def __init__(self) -> None:
        self.sizes = dict[int, int]()
        """How many each case has, by position."""
        self.values = array("d")

    def add(self, position: int, value: float) -> None:
        self.sizes[position] = self.sizes.get(position, 0) + 1
        self.values.append(value)


class Piece:
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
        return count_problems(self._connection, *self._own(CASE_RESULTS))

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
        columns = (row.position, row.mean, row.std, row["count"], row.missing, row.min, row.max)
        wanted = select(*columns).where(*self._own(CASE_METRICS), row.metric == metric, row.mean.is_not(None))
        rows = self._rows(wanted.order_by(row.position))
        positions, means, stds, counts, missing, _, _ = zip(*rows, strict=True)
        single = all(count == 1 for count in counts)
        sizes, scores = ((), array("d")) if single else self._values(metric, rows)
        return ScoreColumns(
            self._places(positions),
            _numbers(means),
            _numbers(stds) if any(std is not None for std in stds) else b"",
            _counts(counts, usual=1),
            _counts(missing, usual=0),
            _counts(sizes),
            _little_endian(scores),
        )

    def _values(self, metric: str, rows: Sequence[tuple[Any, ...]]) -> tuple[Sequence[int], array[float]]:
        """How many scores of samples each of these cases has, and all of them.

        Only scores of cases in which some differ are read; the others are the case's lowest score.
        """
        read = self._different_scores.get(metric, _Values())
        sizes, scores, start = list[int](), array("d"), 0
        for position, _, _, count, _, low, _ in rows:
            size = read.sizes.get(position)
            sizes.append(count if size is None else size)
            if size is None:
                scores.extend(repeat(low, count))
            else:
                scores += read.values[start : start + size]
                start += size
        return sizes, scores

    @cached_property
    def _different_scores(self) -> dict[str, _Values]:
        """By metric, the scores of all samples of those cases in which any scores differ, in file order."""
        found: defaultdict[str, _Values] = defaultdict(_Values)
        row, measured = SAMPLE_RESULTS.c, CASE_METRICS.c
        different = select(measured.position).where(*self._own(CASE_METRICS), measured.min != measured.max)
        wanted = select(row.position, row.scores).where(*self._own(SAMPLE_RESULTS), row.position.in_(different))
        with self._connection.execute(wanted.order_by(row.position, row.sample)) as rows:
            while some := rows.cursor.fetchmany(_AT_ONCE):
                for position, text in some:
                    for metric, value in read_values(text).items():
                        found[metric].add(position, value)
        return found

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


def _by_name(rows: Iterable[tuple[Any, ...]]) -> dict[str, list[tuple[Any, ...]]]:
    """Columns by the name that each row begins with."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row)
    return {name: list(zip(*some, strict=True))[1:] for name, some in found.items()}


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
