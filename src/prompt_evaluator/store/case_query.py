"""Finds and sorts the cases of a run, one page at a time, from result rows alone.

A query scans one table and checks the others for each of its rows. Cases without a value to sort by come last, from a
separate scan.
"""

from __future__ import annotations

from array import array
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import ColumnElement, Table, and_, exists, func, literal, or_, select, true

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.case_columns import CaseStates
from prompt_evaluator.model.condition import lookup
from prompt_evaluator.model.error_pattern import split_name
from prompt_evaluator.model.query import CaseLine, CaseQuery, Neighbours, Page
from prompt_evaluator.store.case_lines import read_case_lines
from prompt_evaluator.store.case_piece import STATE
from prompt_evaluator.store.dialects import contains
from prompt_evaluator.store.error_query import positions_with
from prompt_evaluator.store.paging import LONGEST, Cursor, after, check_limit, read_cursor, written
from prompt_evaluator.store.result_tables import CASE_FLAGS, CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS
from prompt_evaluator.store.run_query import compared
from prompt_evaluator.store.schema import CASES
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Select

    from prompt_evaluator.model.condition import Condition

SORTS = {"cost": CASE_RESULTS.c.cost, "latency": CASE_RESULTS.c.latency_ms, "flakiness": CASE_RESULTS.c.flakiness}
_FEW = 256
"""How many positions may be listed in a statement."""
_decode = msgspec.json.Decoder(dict[str, Any]).decode


class _Place(NamedTuple):
    position: int
    value: float | None


def query_cases(connection: Connection, query: CaseQuery, order: Sequence[int] | None = None) -> Page[CaseLine]:
    """Return a page of cases; `order` is what `read_order` found for the query, if it is known."""
    check_limit(query.limit)
    if order is not None:
        return _page_of(connection, query, order)
    walk = Walk(connection, query)
    places = walk.places(query.limit + 1)
    shown = places[: query.limit]
    more = None
    if len(places) > len(shown):
        more = written(Cursor(query.sort, query.descending, shown[-1].value, shown[-1].position))
    return Page(tuple(read_case_lines(connection, query.run_id, [place.position for place in shown])), more)


def _page_of(connection: Connection, query: CaseQuery, order: Sequence[int]) -> Page[CaseLine]:
    """Return the cases of an order that come after the query's cursor."""
    cursor = read_cursor(query.cursor, sort=query.sort, descending=query.descending, kind="number", key=int)
    if cursor is not None and cursor.key not in order:
        return query_cases(connection, query)
    start = order.index(int(cursor.key)) + 1 if cursor else 0
    lines = tuple(read_case_lines(connection, query.run_id, order[start : start + query.limit]))
    more = None
    if lines and start + query.limit < len(order):
        last = lines[-1]
        more = written(Cursor(query.sort, query.descending, _sort_value(last, query.sort), last.position))
    return Page(lines, more)


def _sort_value(line: CaseLine, sort: str) -> float | None:
    if sort == "position":
        return line.position
    if sort in SORTS:
        value: float | None = getattr(line, SORTS[sort].name)
        return value
    metric = line.metrics.get(sort) or line.metrics.get(sort.removeprefix("metric."))
    return metric.mean if metric else None


def count_cases(connection: Connection, query: CaseQuery) -> int:
    """Count the cases on all pages."""
    return Walk(connection, msgspec.structs.replace(query, sort="position", cursor=None)).count()


def read_matching_ids(connection: Connection, query: CaseQuery) -> list[str]:
    """Return the ids of the cases on all pages, in dataset order."""
    walk = Walk(connection, msgspec.structs.replace(query, sort="position", cursor=None))
    found: list[str] = []
    for chunk in chunks([place.position for place in walk.places(LONGEST)]):
        own = (CASES.c.run_id == query.run_id, CASES.c.position.in_(chunk))
        found += connection.scalars(select(CASES.c.case_id).where(*own).order_by(CASES.c.position))
    return found


def read_neighbours(connection: Connection, run_id: str, case_id: str, order: Sequence[int]) -> Neighbours:
    """Return the cases before and after this one in an order of positions."""
    own = CASES.c.run_id == run_id
    position = connection.scalar(select(CASES.c.position).where(own, CASES.c.case_id == case_id))
    at = order.index(position) if position in order else None
    near = [None, order[0] if order else None]
    if at is not None:
        near = [order[at - 1] if at else None, order[at + 1] if at + 1 < len(order) else None]
    named = select(CASES.c.position, CASES.c.case_id).where(own, CASES.c.position.in_(near))
    ids = {row.position: row.case_id for row in connection.execute(named)}
    before, behind = (ids.get(each) for each in near)
    return Neighbours(previous=before, next=behind, place=None if at is None else at + 1, total=len(order))


class Walk:
    """The execution of one query."""

    def __init__(self, connection: Connection, query: CaseQuery) -> None:
        self._connection, self._query = connection, query
        self.metric = self._sort_metric()
        """The one to sort by, if any."""
        self._check_names()
        self._cursor = read_cursor(query.cursor, sort=query.sort, descending=query.descending, kind="number", key=int)
        self._on_results = self._result_conditions()

    def places(self, count: int) -> list[_Place]:
        """Return the positions of the next cases, with their sort values."""
        found: list[_Place] = []
        may_have_value = self._query.sort == "position" or self._query.status != "pending"
        if may_have_value and (self._cursor is None or self._cursor.value is not None):
            found = self._matching(self._with_value(), count)
        if len(found) < count and self._query.sort != "position":
            found += self._matching(self._without_value(), count - len(found))
        return found

    def count(self) -> int:
        """Count the matching cases on all pages."""
        if self._among is not None:
            return len(self.places(LONGEST))
        table = CASE_RESULTS if self._on_results else CASES
        return self._connection.scalar(self._select(table, literal(None)).with_only_columns(func.count())) or 0

    def order(self) -> Sequence[int]:
        """Return the positions of all matching cases, in the order of the query."""
        return array("q", [place.position for place in self.places(LONGEST)])

    def states(self) -> CaseStates:
        """Return all matching cases with their states, in dataset order."""
        position = CASES.c.position
        beside = CASES.outerjoin(CASE_RESULTS, self._in_run(CASE_RESULTS, position))
        wanted = self._select(CASES, STATE).select_from(beside).order_by(position)
        positions, states = array("q"), bytearray()
        for at, state in self._connection.execute(wanted):
            if self._among is None or at in self._among:
                positions.append(at)
                states.append(state)
        return CaseStates(positions, bytes(states))

    def _with_value(self) -> Select[Any]:
        query, cursor = self._query, self._cursor
        if self.metric is not None:
            table, value = CASE_METRICS, CASE_METRICS.c.mean
            own = [CASE_METRICS.c.metric == self.metric, *self._on_sorted_metric(), value.is_not(None)]
        elif query.sort == "position":
            table = CASE_RESULTS if self._on_results else CASES
            value, own = table.c.position, []
        else:
            table, value = CASE_RESULTS, SORTS[query.sort]
            own = [value.is_not(None)]
        position = table.c.position
        behind = after(value, position, cursor, descending=query.descending, key_descending=False)
        order = (value.desc() if query.descending else value, position)
        return self._select(table, value).where(*own, *behind).order_by(*order)

    def _without_value(self) -> Select[Any]:
        table = CASE_RESULTS if self._on_results else CASES
        position = table.c.position
        if self._query.status == "pending":
            lacks: ColumnElement[bool] = true()
        elif self.metric is None:
            valued = and_(self._in_run(CASE_RESULTS, position), SORTS[self._query.sort].is_not(None))
            lacks = SORTS[self._query.sort].is_(None) if table is CASE_RESULTS else ~_exists(CASE_RESULTS, valued)
        else:
            valued = and_(self._in_run(CASE_METRICS, position), CASE_METRICS.c.metric == self.metric)
            lacks = ~_exists(CASE_METRICS, and_(valued, CASE_METRICS.c.mean.is_not(None)))
        behind = [position > self._cursor.key] if self._cursor and self._cursor.value is None else []
        return self._select(table, literal(None)).where(lacks, *behind).order_by(position)

    def _select(self, table: Table, value: ColumnElement[Any]) -> Select[Any]:
        """Select all cases that meet every condition except those on metadata, scanning this table."""
        position = table.c.position
        wanted = select(position, value).where(table.c.run_id == self._query.run_id)
        if self._on_results:
            if table is CASE_RESULTS:
                wanted = wanted.where(*self._on_results)
            else:
                there = and_(self._in_run(CASE_RESULTS, position), *self._on_results)
                wanted = wanted.where(_exists(CASE_RESULTS, there))
        return wanted.where(*self._elsewhere(table))

    def _matching(self, wanted: Select[Any], count: int) -> list[_Place]:
        if self._among is None:
            return [_Place(*row) for row in self._connection.execute(wanted.limit(count))]
        if len(self._among) <= _FEW:
            few = wanted.where(wanted.selected_columns[0].in_(sorted(self._among)))
            return [_Place(*row) for row in self._connection.execute(few.limit(count))]
        with self._connection.execute(wanted) as rows:
            fitting = (_Place(*row) for row in rows if row[0] in self._among)
            return list(islice(fitting, count))

    @cached_property
    def _among(self) -> frozenset[int] | None:
        """The positions that are asked for and whose metadata and errors match; None without such conditions."""
        kind, pattern = split_name(self._query.error_kind or "")
        found = self._fitting_metadata()
        if pattern is None:
            return found
        by_pattern = positions_with(self._connection, self._query.run_id, kind, pattern)
        return by_pattern if found is None else by_pattern & found

    def _fitting_metadata(self) -> frozenset[int] | None:
        """Return the positions that are asked for and whose metadata match; None without such conditions.

        Evaluated here instead of in the database, so that conditions mean the same as in a dataset filter.
        """
        conditions, among = self._query.metadata, self._query.positions
        if not conditions:
            return among
        rows = self._connection.execute(
            select(CASES.c.position, CASES.c["metadata"]).where(CASES.c.run_id == self._query.run_id)
        )
        decoded = ((position, _decode(data or "{}")) for position, data in rows)
        return frozenset(
            position
            for position, values in decoded
            if (among is None or position in among)
            and all(condition.holds(lookup(values, condition.field)) for condition in conditions)
        )

    def _result_conditions(self) -> list[ColumnElement[bool]]:
        """Conditions on a case's own row. None of them holds for a case without results."""
        query, row = self._query, CASE_RESULTS.c
        wanted: list[ColumnElement[bool]] = [
            row[name].is_(value)
            for name, value in (("flaky", query.flaky), ("flagged", query.flagged), ("failing", query.failing))
            if value is not None
        ]
        if query.status not in (None, "pending"):
            wanted.append(row.status == query.status)
        if query.errors is not None:
            wanted.append(row.error_kinds.is_not(None) if query.errors else row.error_kinds.is_(None))
        if query.error_kind is not None:
            wanted.append(row.error_kinds.contains(f'"{split_name(query.error_kind)[0]}"', autoescape=True))
        return wanted

    def _elsewhere(self, table: Table) -> Iterator[ColumnElement[bool]]:
        """Conditions on tables other than the one being scanned."""
        query, position = self._query, table.c.position
        if query.status == "pending":
            done = and_(self._in_run(CASE_RESULTS, position), CASE_RESULTS.c.status != "pending")
            yield ~_exists(CASE_RESULTS, done)
        for condition in query.metrics:
            if not (table is CASE_METRICS and condition.field == self.metric):
                named = and_(self._in_run(other := CASE_METRICS.alias(), position), other.c.metric == condition.field)
                yield _exists(other, and_(named, _mean_holds(other.c.mean, condition)))
        for flag in query.flags:
            this = and_(self._in_run(CASE_FLAGS, position), CASE_FLAGS.c.flag == flag)
            yield _exists(CASE_FLAGS, and_(this, CASE_FLAGS.c.raised > 0))
        if query.text:
            yield or_(self._input_has(table, query.text), self._answer_has(position, query.text))

    def _input_has(self, table: Table, text: str) -> ColumnElement[bool]:
        has = contains(self._connection, CASES.c.input, text)
        return has if table is CASES else _exists(CASES, and_(self._in_run(CASES, table.c.position), has))

    def _answer_has(self, position: ColumnElement[int], text: str) -> ColumnElement[bool]:
        has = contains(self._connection, SAMPLE_RESULTS.c.answer, text)
        return _exists(SAMPLE_RESULTS, and_(self._in_run(SAMPLE_RESULTS, position), has))

    def _on_sorted_metric(self) -> list[ColumnElement[bool]]:
        own = [condition for condition in self._query.metrics if condition.field == self.metric]
        return [_mean_holds(CASE_METRICS.c.mean, condition) for condition in own]

    def _in_run(self, table: Any, position: ColumnElement[int]) -> ColumnElement[bool]:
        return and_(table.c.run_id == self._query.run_id, table.c.position == position)

    def _sort_metric(self) -> str | None:
        sort = self._query.sort
        if sort == "position" or sort in SORTS:
            return None
        named = sort.removeprefix("metric.")
        return named if named != sort and self._has(CASE_METRICS, "metric", named) else sort

    def _check_names(self) -> None:
        """Refuse metrics and flags that no finished case has. Until a case finishes, any name is accepted."""
        for condition in self._query.metrics:
            self._check(CASE_METRICS, "metric", condition.field)
        for flag in self._query.flags:
            self._check(CASE_FLAGS, "flag", flag)
        if self.metric is not None:
            self._check(CASE_METRICS, "metric", self.metric, more=("position", *SORTS))

    def _check(self, table: Table, column: str, name: str, more: tuple[str, ...] = ()) -> None:
        if self._has(table, column, name):
            return
        if self._has_results():
            names = select(table.c[column]).where(table.c.run_id == self._query.run_id).distinct()
            raise UnknownNameError(column, name, [*self._connection.scalars(names), *more])

    def _has(self, table: Table, column: str, name: str) -> bool:
        this = (table.c.run_id == self._query.run_id, table.c[column] == name)
        return self._connection.execute(select(table.c.position).where(*this).limit(1)).first() is not None

    def _has_results(self) -> bool:
        own = CASE_RESULTS.c.run_id == self._query.run_id
        return self._connection.execute(select(CASE_RESULTS.c.position).where(own).limit(1)).first() is not None


def _exists(table: Any, where: ColumnElement[bool]) -> ColumnElement[bool]:
    return exists(select(table.c.position).where(where).correlate_except(table))


def _mean_holds(mean: ColumnElement[Any], condition: Condition) -> ColumnElement[bool]:
    if condition.operator == "~":
        raise ConfigurationError(f"The condition {str(condition)!r} uses ~ on a number. Use a comparison such as >=.")
    return (
        mean != condition.number if condition.operator == "!=" else compared(mean, condition.operator, condition.number)
    )
