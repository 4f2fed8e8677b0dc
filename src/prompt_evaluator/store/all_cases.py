"""Reads all cases of a run that match a query: from columns where these are stored and say enough, else from rows."""

from __future__ import annotations

import operator
from array import array
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import select

from prompt_evaluator.model.case_columns import FAILING, FLAGGED, FLAKY, HAS_ERRORS, HAS_RESULT, CaseStates
from prompt_evaluator.store.case_columns import StoredColumns, are_stored, count_all
from prompt_evaluator.store.case_query import SORTS, Walk
from prompt_evaluator.store.result_tables import CASE_FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from sqlalchemy import Connection

    from prompt_evaluator.model.case_columns import CaseColumns
    from prompt_evaluator.model.condition import Condition
    from prompt_evaluator.model.query import CaseQuery
    from prompt_evaluator.stats.packed import Bools, Floats, Ints

_BITS = {"flaky": FLAKY, "flagged": FLAGGED, "failing": FAILING, "errors": HAS_ERRORS}
_COMPARISONS = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_ONLY_IN_ROWS = ("status", "error_kind", "metadata", "text")
"""Conditions that columns cannot answer."""


def read_states(connection: Connection, query: CaseQuery) -> CaseStates:
    """Return the cases on all pages with their states, in dataset order."""
    query = msgspec.structs.replace(query, sort="position", descending=False, cursor=None)
    walk = Walk(connection, query)
    if not _is_in_columns(connection, query):
        return walk.states()
    if not _has_conditions(query):
        states = b"".join(piece.states for piece in _pieces(connection, query.run_id))
        return CaseStates(range(len(states)), states)
    cases = _Cases(_pieces(connection, query.run_id), query, None)
    positions = cases.matching()
    return CaseStates(_packed(positions), cases.states[positions].tobytes())


def read_order(connection: Connection, query: CaseQuery) -> Sequence[int]:
    """Return the positions of the cases on all pages, in the order of the query."""
    query = msgspec.structs.replace(query, cursor=None)
    walk = Walk(connection, query)
    if query.sort in SORTS or not _is_in_columns(connection, query):
        return walk.order()
    if walk.metric is None and not _has_conditions(query):
        everything = range(count_all(connection, query.run_id))
        return everything[::-1] if query.descending else everything
    return _packed(_Cases(_pieces(connection, query.run_id), query, walk.metric).order())


def count_flags(connection: Connection, run_id: str, positions: Sequence[int]) -> dict[str, int]:
    """Return every flag that was raised in the run, and in how many of these cases it was."""
    if are_stored(connection, run_id):
        return _count_flags(_pieces(connection, run_id), positions)
    row = CASE_FLAGS.c
    wanted = select(row.position, row.flag).where(row.run_id == run_id, row.raised > 0)
    among = positions if isinstance(positions, range) else frozenset(positions)
    found: dict[str, int] = {}
    for position, flag in connection.execute(wanted.order_by(row.position, row.flag)):
        found[flag] = found.get(flag, 0) + (position in among)
    return found


def _is_in_columns(connection: Connection, query: CaseQuery) -> bool:
    if any(getattr(query, name) for name in _ONLY_IN_ROWS) or any(each.operator == "~" for each in query.metrics):
        return False
    return are_stored(connection, query.run_id)


def _has_conditions(query: CaseQuery) -> bool:
    """Whether columns are to be searched."""
    has_states = any(getattr(query, name) is not None for name in _BITS)
    return has_states or bool(query.metrics or query.flags) or query.positions is not None


def _pieces(connection: Connection, run_id: str) -> Iterator[CaseColumns]:
    return StoredColumns(lambda: nullcontext(connection), run_id).pieces()


class _Cases:
    """What a query asks about, of all cases of a run."""

    def __init__(self, pieces: Iterable[CaseColumns], query: CaseQuery, metric: str | None) -> None:
        import numpy as np  # noqa: PLC0415 - takes a tenth of a second

        self._query, self._metric = query, metric
        names = {condition.field for condition in query.metrics} | ({metric} if metric else set())
        states: list[bytes] = []
        means: dict[str, list[Floats]] = {name: [] for name in names}
        raised: dict[str, list[Bools]] = {flag: [] for flag in query.flags}
        for piece in pieces:
            states.append(piece.states)
            for name, parts in means.items():
                parts.append(_means(piece, name))
            for flag, has_flag in raised.items():
                has_flag.append(_raised(piece, flag))
        self.states = np.frombuffer(b"".join(states), np.uint8)
        self._means = {name: np.concatenate(parts) for name, parts in means.items()}
        self._raised = {flag: np.concatenate(parts) for flag, parts in raised.items()}

    def matching(self) -> Ints:
        """Positions in dataset order."""
        import numpy as np  # noqa: PLC0415

        query, size = self._query, len(self.states)
        holds = np.ones(size, bool)
        for name, bit in _BITS.items():
            if (wanted := getattr(query, name)) is not None:  # neither holds for a case without a result
                holds &= self.states & (HAS_RESULT | bit) == (HAS_RESULT | bit if wanted else HAS_RESULT)
        for condition in query.metrics:
            holds &= _mean_holds(self._means[condition.field], condition)
        for flag in query.flags:
            holds &= self._raised[flag]
        if query.positions is not None:
            among = np.zeros(size, bool)
            among[[position for position in query.positions if position < size]] = True
            holds &= among
        return np.flatnonzero(holds)

    def order(self) -> Ints:
        """Positions in the order of the query; those of cases without a value come last."""
        import numpy as np  # noqa: PLC0415

        positions, descending = self.matching(), self._query.descending
        if self._metric is None:
            return positions[::-1] if descending else positions
        means = self._means[self._metric][positions]
        has_mean = ~np.isnan(means)
        keys = -means[has_mean] if descending else means[has_mean]
        return np.concatenate([positions[has_mean][np.argsort(keys, kind="stable")], positions[~has_mean]])


def _means(piece: CaseColumns, metric: str) -> Floats:
    """NaN for a case without a score."""
    import numpy as np  # noqa: PLC0415

    from prompt_evaluator.stats.packed import places, scores  # noqa: PLC0415 - loads numpy

    found = np.full(piece.size, np.nan)
    if (columns := piece.metrics.get(metric)) is not None:
        found[places(columns.at, piece.size)] = scores(columns.mean, 0)
    return found


def _mean_holds(means: Floats, condition: Condition) -> Bools:
    import numpy as np  # noqa: PLC0415

    holds: Bools = _COMPARISONS[condition.operator](means, condition.number) & ~np.isnan(means)
    return holds


def _raised(piece: CaseColumns, flag: str) -> Bools:
    import numpy as np  # noqa: PLC0415

    found = np.zeros(piece.size, bool)
    found[_places_raised(piece).get(flag, [])] = True
    return found


def _places_raised(piece: CaseColumns) -> dict[str, Any]:
    """By flag, where it was raised; those that were raised nowhere are absent."""
    from prompt_evaluator.stats.packed import counts, places  # noqa: PLC0415 - loads numpy

    raised = {
        name: places(each.at, piece.size)[counts(each.raised, 0) > 0] for name, each in sorted(piece.flags.items())
    }
    return {name: at for name, at in raised.items() if len(at)}


def _count_flags(pieces: Iterable[CaseColumns], positions: Sequence[int]) -> dict[str, int]:
    import numpy as np  # noqa: PLC0415

    from prompt_evaluator.stats.packed import as_places  # noqa: PLC0415 - loads numpy

    found: dict[str, int] = {}
    start, among = 0, as_places(positions)
    for piece in pieces:
        first, behind = np.searchsorted(among, (start, start + piece.size))
        is_chosen = np.zeros(piece.size, bool)
        is_chosen[among[first:behind] - start] = True
        raised = _places_raised(piece)
        for flag in sorted(raised, key=lambda name: int(raised[name][0])):
            found[flag] = found.get(flag, 0) + int(is_chosen[raised[flag]].sum())
        start += piece.size
    return found


def _packed(positions: Ints) -> Sequence[int]:
    """As numbers of Python when they are read."""
    return array("q", positions.astype("=i8").tobytes())
