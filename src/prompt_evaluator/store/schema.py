"""The tables, and how many rows at once are written to them."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    UniqueConstraint,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

REVISIONS = ("0001", "0002")
"""Every revision of the schema, oldest first: what `migrations/versions` holds, known here without loading Alembic."""

HEAD = REVISIONS[-1]

METADATA = MetaData()

RUNS = Table(
    "runs",
    METADATA,
    Column("run_id", Text, primary_key=True),
    Column("group_id", Text, nullable=False),
    Column("parent_run_id", Text),
    Column("status", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("ended_at", Text),
    Column("stop_reason", Text),
    Column("plan", LargeBinary, nullable=False),
    Index("ix_runs_started_at", "started_at"),
)

CASES = Table(
    "cases",
    METADATA,
    Column("run_id", Text, ForeignKey("runs.run_id", name="fk_cases_run_id"), nullable=False),
    Column("position", Integer, nullable=False),
    Column("case_id", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    PrimaryKeyConstraint("run_id", "case_id", name="pk_cases"),
    UniqueConstraint("run_id", "position", name="uq_cases_position"),
)

UNITS = Table(
    "units",
    METADATA,
    Column("run_id", Text, ForeignKey("runs.run_id", name="fk_units_run_id"), nullable=False),
    Column("case_id", Text, nullable=False),
    Column("name", LargeBinary, nullable=False),
    Column("kind", Text, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("ok", Boolean, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("attempt", Integer, nullable=False, server_default="0"),
    PrimaryKeyConstraint("run_id", "case_id", "name", name="pk_units"),
    Index("ix_units_name", "name"),
)

LABELS = Table(
    "labels",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id", name="fk_labels_run_id"), nullable=False),
    Column("case_id", Text, nullable=False),
    Column("sample", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("metric", Text, nullable=False),
    Column("value", Float, nullable=False),
    Column("reviewer", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("rubric_hash", Text),
    Column("answer_hash", Text, nullable=False),
    Column("probability", Float),
    Column("judge_seen", Boolean),
    Index("ix_labels_run_id_case_id", "run_id", "case_id"),
    sqlite_autoincrement=True,  # the id of a deleted row is never given to another, as on a server
)

CASE_COLUMNS = ("run_id", "position", "case_id", "data")
UNIT_COLUMNS = ("run_id", "case_id", "name", "kind", "sample", "repeat", "ok", "data", "attempt")

_KEEP_WHAT_IS_OK = (
    " ON CONFLICT (run_id, case_id, name) DO UPDATE SET kind = excluded.kind, sample = excluded.sample,"
    " repeat = excluded.repeat, ok = excluded.ok, data = excluded.data, attempt = excluded.attempt WHERE NOT units.ok"
)
_MOST_ROWS, _STEP = 256, 16


def insert_cases(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    _insert(connection, "cases", CASE_COLUMNS, rows)


def insert_units(connection: Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Write units, of which no two may share a key. One that is ok stays; one that is not is replaced."""
    _insert(connection, "units", UNIT_COLUMNS, rows, _KEEP_WHAT_IS_OK)


def _insert(
    connection: Connection, table: str, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]], tail: str = ""
) -> None:
    """Few statements, because each one gives up the interpreter's lock, and of few sizes, because each one is kept."""
    mark = "?" if connection.dialect.paramstyle == "qmark" else "%s"
    start = 0
    while left := len(rows) - start:
        size = min(left - left % _STEP or left, _MOST_ROWS)
        statement = _statement(table, columns, tail, mark, size)
        connection.exec_driver_sql(statement, tuple(chain.from_iterable(rows[start : start + size])))
        start += size


@cache
def _statement(table: str, columns: tuple[str, ...], tail: str, mark: str, rows: int) -> str:
    row = f"({', '.join([mark] * len(columns))})"
    # Names and marks are constants of this module; every value is bound.
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES {', '.join([row] * rows)}{tail}"  # noqa: S608
