"""Queries runs by any of their columns, one page at a time."""

from __future__ import annotations

import operator as operators
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from sqlalchemy import Boolean, Integer, String, case, cast, or_, select

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.query import Page, RunLine, RunQuery
from prompt_evaluator.store.dialects import as_number, contains, entry, ordered
from prompt_evaluator.store.paging import Cursor, after, check_limit, read_cursor, written
from prompt_evaluator.store.schema import RUNS
from prompt_evaluator.store.unit_rows import chunks

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping

    from prompt_evaluator.model.condition import Condition

_JSON = ("tags", "errors", "summary", "progress")
_SHOWN = [RUNS.c[name] for name in RunLine.__struct_fields__]
_FIELDS = sorted({*RunLine.__struct_fields__} - {*_JSON})
_COMPARISONS = {"=": operators.eq, ">": operators.gt, ">=": operators.ge, "<": operators.lt, "<=": operators.le}
_MOST_VALUES = 1_000
_KEYED = ("tag.KEY", "metric.NAME", "error.KIND")


class _Field(NamedTuple):
    value: ColumnElement[Any]
    kind: str
    """`text`, `number` or `yes or no`."""


def query_runs(connection: Connection, query: RunQuery, interrupted: Collection[str] = ()) -> Page[RunLine]:
    """Return a page of runs. Those with an id in `interrupted` get the status `interrupted`."""
    check_limit(query.limit)
    sort = _field(connection, query.sort, interrupted)
    cursor = read_cursor(query.cursor, sort=query.sort, descending=query.descending, kind=sort.kind, key=str)
    where = [holds(connection, condition, interrupted) for condition in query.where]
    down = query.descending
    key = ordered(connection, RUNS.c.run_id)
    order = (sort.value.is_(None), sort.value.desc() if down else sort.value, key.desc() if down else key)
    wanted = (
        select(*_SHOWN, sort.value.label("sort_value"))
        .where(*where, *after(sort.value, key, cursor, descending=down, key_descending=down))
        .order_by(*order)
        .limit(query.limit + 1)
    )
    rows = connection.execute(wanted).mappings().all()
    shown = rows[: query.limit]
    more = None
    if len(rows) > len(shown):
        more = written(Cursor(query.sort, down, shown[-1]["sort_value"], shown[-1]["run_id"]))
    return Page(tuple(run_line(row, interrupted) for row in shown), more)


def read_run_values(connection: Connection, name: str, interrupted: Collection[str] = ()) -> list[Any]:
    """The values that runs have in a field, each once, at most a thousand."""
    field = _field(connection, name, interrupted)
    values = connection.scalars(
        select(field.value).select_from(RUNS).where(field.value.is_not(None)).distinct().limit(_MOST_VALUES)
    )
    return [bool(value) if field.kind == "yes or no" else value for value in values]


def read_run_keys(connection: Connection, column: str) -> set[str]:
    """The keys that runs have in `tags` or `errors`."""
    found = connection.scalars(select(RUNS.c[column]).where(RUNS.c[column].is_not(None)).distinct())
    return {key for written in found for key in msgspec.json.decode(written)}


def read_history(connection: Connection, dataset: str, limit: int, interrupted: Collection[str] = ()) -> list[RunLine]:
    """Return the newest runs of a dataset, given its name or hash."""
    this = or_(RUNS.c.dataset_name == dataset, RUNS.c.dataset_hash == dataset)
    newest = (ordered(connection, RUNS.c.started_at).desc(), RUNS.c.run_id.desc())
    rows = connection.execute(select(*_SHOWN).where(this).order_by(*newest).limit(limit)).mappings()
    return [run_line(row, interrupted) for row in rows]


def read_run_line(connection: Connection, run_id: str, interrupted: Collection[str] = ()) -> RunLine:
    row = connection.execute(select(*_SHOWN).where(RUNS.c.run_id == run_id)).mappings().one()
    return run_line(row, interrupted)


def read_run_lines(connection: Connection, run_ids: Sequence[str]) -> dict[str, RunLine]:
    """The list entries of finished runs, by id."""
    rows = (
        row
        for chunk in chunks(run_ids)
        for row in connection.execute(select(*_SHOWN).where(RUNS.c.run_id.in_(chunk))).mappings()
    )
    return {row["run_id"]: run_line(row, ()) for row in rows}


def run_line(row: RowMapping, interrupted: Collection[str]) -> RunLine:
    values: dict[str, Any] = {name: row[name] for name in RunLine.__struct_fields__}
    for name in _JSON:
        values[name] = msgspec.json.decode(values[name]) if values[name] else None
    for name in ("tags", "errors"):
        values[name] = values[name] or {}
    if row["run_id"] in interrupted:
        values["status"] = "interrupted"
    return msgspec.convert(values, RunLine)


def _field(connection: Connection, name: str, interrupted: Collection[str]) -> _Field:
    family, dot, key = name.partition(".")
    if dot and family in ("tag", "tags"):
        return _Field(ordered(connection, entry(connection, RUNS.c.tags, key)), "text")
    if dot and family in ("error", "errors"):
        return _Field(as_number(connection, entry(connection, RUNS.c.errors, key)), "number")
    if dot and family == "metric":
        value = entry(connection, RUNS.c.summary, key, inside="overall_metric_stats", part="mean_of_means")
        return _Field(as_number(connection, value), "number")
    if name not in _FIELDS:
        raise UnknownNameError("field of runs", name, [*_FIELDS, *_KEYED])
    column: ColumnElement[Any] = RUNS.c[name]
    if name == "status" and interrupted:
        column = case((RUNS.c.run_id.in_(sorted(interrupted)), "interrupted"), else_=column)
    if isinstance(column.type, String):
        return _Field(ordered(connection, column), "text")
    if isinstance(column.type, Boolean):
        return _Field(cast(column, Integer), "yes or no")  # integers can be sorted on every database
    return _Field(column, "number")


def holds(connection: Connection, condition: Condition, interrupted: Collection[str]) -> ColumnElement[bool]:
    """Whether a condition holds for a run."""
    field = _field(connection, condition.field, interrupted)
    value, operator = field.value, condition.operator
    if condition.value.lower() == "null" and operator in ("=", "!="):
        return value.is_(None) if operator == "=" else value.is_not(None)
    if operator == "~":
        if field.kind != "text":
            raise ConfigurationError(f"The condition {str(condition)!r} uses ~ on a field that is not text. Use =.")
        return contains(connection, value, condition.value)
    wanted = _wanted(field.kind, condition)
    if operator == "!=":
        return or_(value != wanted, value.is_(None))
    return compared(value, operator, wanted)


def compared(value: ColumnElement[Any], operator: str, wanted: Any) -> ColumnElement[bool]:
    """Apply one of the comparisons that numbers and texts have in common."""
    return _COMPARISONS[operator](value, wanted)  # type: ignore[no-any-return]  # comparing a column gives a condition


def _wanted(kind: str, condition: Condition) -> str | float:
    if kind == "number":
        return condition.number
    if kind == "text":
        return condition.value
    if condition.value.lower() not in ("true", "false") or condition.operator not in ("=", "!="):
        raise ConfigurationError(
            f"The condition {str(condition)!r} is on a yes-or-no field. Write {condition.field}=true or =false."
        )
    return int(condition.value.lower() == "true")
