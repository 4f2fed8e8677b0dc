"""Finds and sorts the cases of a run in its columns, as `case_query` does in rows."""

from __future__ import annotations

import operator
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from prompt_evaluator.model.case_columns import FAILING, FLAGGED, FLAKY, HAS_ERRORS, HAS_RESULT, CaseStates
from prompt_evaluator.model.condition import lookup
from prompt_evaluator.stats.packed import as_places, counts, places, scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_evaluator.model.case_columns import CaseColumns
    from prompt_evaluator.model.condition import Condition
    from prompt_evaluator.model.query import CaseQuery
    from prompt_evaluator.stats.packed import Bools, Counts, Floats, Ints

_BITS = {"flaky": FLAKY, "flagged": FLAGGED, "failing": FAILING, "errors": HAS_ERRORS}
_COMPARISONS = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class _Piece(NamedTuple):
    """Some cases of a run."""

    start: int
    """Position of the first."""
    columns: CaseColumns
    is_chosen: Bools


def find_states(pieces: Iterable[CaseColumns], query: CaseQuery) -> CaseStates:
    """Return the matching cases with their states, in dataset order."""
    positions, states = array("q"), bytearray()
    for piece in _matching(pieces, query):
        at = np.flatnonzero(piece.is_chosen)
        positions.frombytes(_packed(at + piece.start))
        states += np.frombuffer(piece.columns.states, np.uint8)[at].tobytes()
    return CaseStates(positions, bytes(states))


def find_order(pieces: Iterable[CaseColumns], query: CaseQuery, metric: str | None) -> Sequence[int]:
    """Return the positions of the matching cases, in the order of the query, which sorts by this metric if any.

    Cases without a score on it come last.
    """
    found: list[Ints] = []
    sorted_by: list[Floats] = []
    for piece in _matching(pieces, query):
        at = np.flatnonzero(piece.is_chosen)
        found.append(at + piece.start)
        sorted_by.append(_means(piece.columns, metric)[at] if metric else found[-1].astype(np.float64))
    positions, values = np.concatenate(found), np.concatenate(sorted_by)
    has_value = ~np.isnan(values)
    order = np.argsort(-values[has_value] if query.descending else values[has_value], kind="stable")
    return array("q", _packed(np.concatenate([positions[has_value][order], positions[~has_value]])))


def count_raised(pieces: Iterable[CaseColumns], positions: Sequence[int]) -> dict[str, int]:
    """Return every flag that was raised, the first one first, and in how many of these cases it was."""
    found: dict[str, int] = {}
    for _, columns, is_chosen in _chosen(pieces, as_places(positions)):
        raised = {flag: at for flag in sorted(columns.flags) if len(at := _places_raised(columns, flag))}
        for flag in sorted(raised, key=lambda name: int(raised[name][0])):
            found[flag] = found.get(flag, 0) + int(is_chosen[raised[flag]].sum())
    return found


def _matching(pieces: Iterable[CaseColumns], query: CaseQuery) -> Iterator[_Piece]:
    among = None if query.positions is None else as_places(sorted(query.positions))
    for piece in _chosen(pieces, among):
        columns, holds = piece.columns, piece.is_chosen
        states = np.frombuffer(columns.states, np.uint8)
        for name, bit in _BITS.items():
            if (wanted := getattr(query, name)) is not None:  # neither holds for a case without a result
                holds &= states & (HAS_RESULT | bit) == (HAS_RESULT | bit if wanted else HAS_RESULT)
        for condition in query.metrics:
            means = _means(columns, condition.field)
            holds &= _COMPARISONS[condition.operator](means, condition.number) & ~np.isnan(means)
        for flag in query.flags:
            raised = np.zeros(columns.size, bool)
            raised[_places_raised(columns, flag)] = True
            holds &= raised
        if query.metadata:
            holds &= _fits(columns, query.metadata)
        yield piece


def _chosen(pieces: Iterable[CaseColumns], among: Ints | None) -> Iterator[_Piece]:
    """Choose the cases at these positions, which are in order; None for all."""
    start = 0
    for columns in pieces:
        is_chosen = np.full(columns.size, among is None)
        if among is not None:
            first, behind = np.searchsorted(among, (start, start + columns.size))
            is_chosen[among[first:behind] - start] = True
        yield _Piece(start, columns, is_chosen)
        start += columns.size


def _means(columns: CaseColumns, metric: str) -> Floats:
    """NaN for a case without a score."""
    found = np.full(columns.size, np.nan)
    if (measured := columns.metrics.get(metric)) is not None:
        found[places(measured.at, columns.size)] = scores(measured.mean, 0)
    return found


def _places_raised(columns: CaseColumns, flag: str) -> Counts:
    if (asked := columns.flags.get(flag)) is None:
        return np.zeros(0, np.uint32)
    return places(asked.at, columns.size)[counts(asked.raised, 0) > 0]


def _fits(columns: CaseColumns, conditions: Sequence[Condition]) -> Bools:
    """Which cases have such metadata, looking at each kind once."""
    kinds = (_decode(text or "{}") for text in columns.metadata)
    fits = [all(each.holds(lookup(values, each.field)) for each in conditions) for values in kinds]
    return np.array(fits, bool)[counts(columns.kinds, columns.size)]


def _packed(positions: Ints) -> bytes:
    """For an array of Python, which has numbers of Python."""
    return positions.astype(np.int64).tobytes()
