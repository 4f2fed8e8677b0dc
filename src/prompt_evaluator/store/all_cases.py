"""Reads all cases of a run that match a query: from columns where these are stored and say enough, else from rows."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import select

from prompt_evaluator.model.case_columns import CaseStates
from prompt_evaluator.model.query import CaseQuery
from prompt_evaluator.store.case_columns import StoredColumns, are_stored, count_all
from prompt_evaluator.store.case_query import SORTS, Walk
from prompt_evaluator.store.result_tables import CASE_FLAGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from prompt_evaluator.model.case_columns import CaseColumns

_ONLY_IN_ROWS = ("status", "error_kind", "text")
"""Conditions that columns cannot answer."""


def read_states(connection: Connection, query: CaseQuery) -> CaseStates:
    """Return the cases on all pages with their states, in dataset order."""
    query = msgspec.structs.replace(query, sort="position", descending=False, cursor=None)
    walk = Walk(connection, query)
    if not _is_in_columns(connection, query):
        return walk.states()
    pieces = _pieces(connection, query.run_id)
    if _is_everything(query):
        states = b"".join(piece.states for piece in pieces)
        return CaseStates(range(len(states)), states)
    from prompt_evaluator.store.column_query import find_states  # noqa: PLC0415 - loads numpy

    return find_states(pieces, query)


def read_order(connection: Connection, query: CaseQuery) -> Sequence[int]:
    """Return the positions of the cases on all pages, in the order of the query."""
    query = msgspec.structs.replace(query, cursor=None)
    walk = Walk(connection, query)
    if query.sort in SORTS or not _is_in_columns(connection, query):
        return walk.order()
    if walk.metric is None and _is_everything(query):
        everything = range(count_all(connection, query.run_id))
        return everything[::-1] if query.descending else everything
    from prompt_evaluator.store.column_query import find_order  # noqa: PLC0415 - loads numpy

    return find_order(_pieces(connection, query.run_id), query, walk.metric)


def count_flags(connection: Connection, run_id: str, positions: Sequence[int]) -> dict[str, int]:
    """Return every flag that was raised in the run, the first one first, and in how many of these cases it was."""
    if are_stored(connection, run_id):
        from prompt_evaluator.store.column_query import count_raised  # noqa: PLC0415 - loads numpy

        return count_raised(_pieces(connection, run_id), positions)
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


def _is_everything(query: CaseQuery) -> bool:
    """Whether there is no condition."""
    plain = CaseQuery(run_id=query.run_id, sort=query.sort, descending=query.descending, limit=query.limit)
    return query == plain


def _pieces(connection: Connection, run_id: str) -> Iterator[CaseColumns]:
    return StoredColumns(lambda: nullcontext(connection), run_id).pieces()
