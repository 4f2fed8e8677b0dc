"""Makes columns of consecutive cases from their rows."""

from __future__ import annotations

import math
import sys
from array import array
from collections import defaultdict
from functools import cached_property, reduce
from hashlib import sha256
from itertools import chain, repeat
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
from prompt_evaluator.store.packing import list_start
from prompt_evaluator.store.result_tables import CASE_FLAGS, CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.sample_scores import read_values
from prompt_evaluator.store.schema import CASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import ColumnElement, Connection, Select, Table

_SWAPS = sys.byteorder == "big"
_AT_ONCE = 128
_msgpack = msgspec.msgpack.Encoder().encode
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


class CaseTexts(NamedTuple):
    """What consecutive cases are, whatever their results."""

    digest: bytes
    """Hash of their ids and contents; None if a content is unknown."""
    ids: IdColumn
    kinds: CaseKinds


class CaseSums(NamedTuple):
    """Of the cases that have a result."""

    states: bytes
    """A byte for each case, with or without a result."""
    latency_ms: float
    timed: int
    """How many have a latency."""


class Piece:
    """Makes the columns of some cases from their rows, of which only some hundred are in memory at a time."""

    def __init__(self, connection: Connection, run_id: str, start: int) -> None:
        self._connection, self._run_id, self._start = connection, run_id, start
        self._size: int = connection.scalar(select(func.count()).where(*self._own(CASES))) or 0

    @cached_property
    def texts(self) -> CaseTexts:
        row = CASES.c
        digest = sha256(list_start(self._size))
        encoded, sizes, texts, kinds = bytearray(), array("I"), dict[str, int](), array("I")
        for rows in self._rows(select(row.case_id, row.content_hash, row.metadata), CASES, row.position):
            digest.update(b"".join([_msgpack(each[:2]) for each in rows]))
            ids = [case_id.encode("utf-8", "surrogatepass") for case_id, _, _ in rows]
            encoded += b"".join(ids)
            sizes.extend(map(len, ids))
            metadata = ["" if text in (None, "{}") else text for _, _, text in rows]
            kinds.extend([texts.setdefault(text, len(texts)) for text in metadata])
        return CaseTexts(
            digest.digest(),
            IdColumn(bytes(encoded), _little_endian(sizes)),
            CaseKinds(self._size, list(texts), _counts(kinds, usual=0)),
        )

    @cached_property
    def sums(self) -> CaseSums:
        states, latency_ms, timed = bytearray(self._size), 0.0, 0
        wanted = select(_row.position, STATE, _row.latency_ms)
        for rows in self._rows(wanted, CASE_RESULTS, _row.position):
            for position, state, latency in rows:
                states[position - self._start] = state
                if latency is not None:
                    latency_ms += latency
                    timed += 1
        return CaseSums(bytes(states), latency_ms, timed)

    def columns(self) -> CaseColumns:
        _, texts, kinds = self.texts.kinds
        return CaseColumns(self._size, self.sums.states, list(texts), kinds, self._metrics(), self._flags())

    def _metrics(self) -> dict[str, ScoreColumns]:
        """The metrics with a mean, in the order in which they are first met."""
        row = CASE_METRICS.c
        columns = (row.metric, row.position, row.mean, row.std, row["count"], row.missing, row.min, row.max)
        found: defaultdict[str, _Measured] = defaultdict(_Measured)
        wanted = select(*columns).where(row.mean.is_not(None))
        for rows in self._rows(wanted, CASE_METRICS, row.position, row.metric):
            for name, some in _by_name(rows).items():
                found[name].extend(some)
        read = self._different_scores() if any(measured.differs for measured in found.values()) else {}
        # What has become columns is not needed any more.
        return {name: self._scores(found.pop(name), read.pop(name, _Values())) for name in list(found)}

    def _scores(self, measured: _Measured, read: _Values) -> ScoreColumns:
        single = measured.counts.count(1) == len(measured.counts)
        sizes, scores = (array("I"), array("d")) if single else measured.values(read)
        return ScoreColumns(
            self._places(measured.positions),
            _little_endian(measured.means),
            _little_endian(measured.stds) if any(std == std for std in measured.stds) else b"",  # noqa: PLR0124 - NaN
            _counts(measured.counts, usual=1),
            _counts(measured.missing, usual=0),
            _little_endian(sizes),
            _little_endian(scores),
        )

    def _different_scores(self) -> dict[str, _Values]:
        """By metric, the scores of all samples of those cases in which any scores differ, in file order."""
        found: defaultdict[str, _Values] = defaultdict(_Values)
        row, measured = SAMPLE_RESULTS.c, CASE_METRICS.c
        different = select(measured.position).where(*self._own(CASE_METRICS), measured.min != measured.max)
        wanted = select(row.position, row.scores).where(row.position.in_(different))
        for rows in self._rows(wanted, SAMPLE_RESULTS, row.position, row.sample):
            for position, text in rows:
                for metric, value in read_values(text).items():
                    found[metric].add(position, value)
        return found

    def _flags(self) -> dict[str, FlagColumns]:
        row = CASE_FLAGS.c
        found: defaultdict[str, list[array[int]]] = defaultdict(lambda: [array("I") for _ in range(3)])
        wanted = select(row.flag, row.position, row.raised, row.asked).where(row.asked > 0)
        for rows in self._rows(wanted, CASE_FLAGS, row.position, row.flag):
            for name, some in _by_name(rows).items():
                for column, values in zip(found[name], some, strict=True):
                    column.extend(values)
        return {
            name: FlagColumns(self._places(positions), _little_endian(raised), _little_endian(asked))
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

    def _rows(self, wanted: Select[Any], table: Table, *order: Any) -> Iterator[Sequence[Any]]:
        """Rows of the piece as the driver has them: a `Row` of SQLAlchemy for each would double the time."""
        with self._connection.execute(wanted.where(*self._own(table)).order_by(*order)) as found:
            while some := found.cursor.fetchmany(_AT_ONCE):
                yield some


class _Values:
    """Scores of samples, case after case. There may be too many to hold an object for each."""

    def __init__(self) -> None:
        self.sizes = dict[int, int]()
        """How many each case has, by position."""
        self.values = array("d")

    def add(self, position: int, value: float) -> None:
        self.sizes[position] = self.sizes.get(position, 0) + 1
        self.values.append(value)


class _Measured:
    """What the cases with a mean on one metric have."""

    def __init__(self) -> None:
        self.positions, self.counts, self.missing = array("I"), array("I"), array("I")
        self.means, self.stds, self._lows = array("d"), array("d"), array("d")
        self.differs = False
        """Whether scores of one case differ."""

    def extend(self, columns: Sequence[Sequence[Any]]) -> None:
        """Add cases: their positions, means, standard deviations, counts, missing, lowest and highest scores."""
        positions, means, stds, counts, missing, lows, highs = columns
        self.positions.extend(positions)
        self.means.extend(means)
        self.stds.extend([math.nan if std is None else std for std in stds])
        self.counts.extend(counts)
        self.missing.extend(missing)
        self._lows.extend(lows)
        self.differs = self.differs or lows != highs

    def values(self, read: _Values) -> tuple[array[int], array[float]]:
        """How many scores of samples each case has, and all of them: those that were read, or all the lowest one."""
        if not read.sizes:
            return self.counts, array("d", _repeated(self._lows, self.counts))
        sizes, scores, start = array("I"), array("d"), 0
        for position, count, low in zip(self.positions, self.counts, self._lows, strict=True):
            size = read.sizes.get(position)
            sizes.append(count if size is None else size)
            if size is None:
                scores.extend(repeat(low, count))
            else:
                scores += read.values[start : start + size]
                start += size
        return sizes, scores


def _repeated(values: Iterable[float], times: Iterable[int]) -> Iterator[float]:
    return chain.from_iterable(map(repeat, values, times))


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


def _little_endian(values: array[Any]) -> bytes:
    if _SWAPS:
        values = values[:]
        values.byteswap()
    return values.tobytes()
