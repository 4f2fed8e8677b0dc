"""The kinds of store, and ways to touch one behind its back."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import URL, Engine, create_engine, make_url

from prompt_evaluator.model import RunProgress
from prompt_evaluator.store.schema import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator

ON_FILE = pytest.mark.parametrize("location", ["file"], indirect=True)
"""For what is about files only."""

ON_SERVER = pytest.mark.parametrize("location", ["server"], indirect=True)
PROGRESS = RunProgress(
    samples=50, samples_done=20, cases=10, cases_done=4, unscored=1, errors={"TimedOutError": 1}, input_tokens=30,
    output_tokens=40, cost=0.5, unpriced=2, rate=3.5, sequence=77, updated_at="2026-01-31T12:00:00.000Z",
)  # fmt: skip


@contextmanager
def engine(location: Path | str) -> Iterator[Engine]:
    if isinstance(location, Path):
        made = create_engine(URL.create("sqlite", database=str(location)))
    else:
        made = create_engine(make_url(location).set(drivername="postgresql+psycopg"))
    yield made
    made.dispose()


def sql(location: Path | str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """Run a statement, with a `?` for each value, and answer with its rows."""
    with engine(location) as made, made.begin() as connection:
        marked = statement if isinstance(location, Path) else statement.replace("?", "%s")
        result = connection.exec_driver_sql(marked, values)
        return [tuple(row) for row in result] if result.returns_rows else []


@contextmanager
def locked(location: Path | str) -> Iterator[None]:
    """Nobody else can write units."""
    with engine(location) as made, made.connect() as connection:
        on_file = isinstance(location, Path)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if on_file else "LOCK TABLE units IN EXCLUSIVE MODE")
        yield
        connection.rollback()


def everything(location: Path | str) -> bytes:
    """All that a thief would get."""
    if isinstance(location, Path):
        return b"".join(path.read_bytes() for path in location.parent.rglob("*") if path.is_file())
    rows = [row for table in METADATA.tables for row in sql(location, f"SELECT * FROM {table}")]
    return b"\n".join(value if isinstance(value, bytes) else str(value).encode() for row in rows for value in row)
