"""The kinds of store, and ways to touch one behind its back."""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy import URL, Engine, create_engine, make_url

from prompt_evaluator.store.schema import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterator

ON_FILE = pytest.mark.parametrize("location", ["file"], indirect=True)
"""For what is about files only."""

ON_SERVER = pytest.mark.parametrize("location", ["server"], indirect=True)


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


def give_scores_rows(location: Path | str) -> None:
    """Make the tables of a store those of revision 0013, which had a row for each score and the hash of each answer."""
    keys = "run_id TEXT, position INTEGER, sample INTEGER, metric TEXT, judge TEXT"
    boolean, double = ("BOOLEAN", "FLOAT") if isinstance(location, Path) else ("BOOLEAN", "DOUBLE PRECISION")
    values = f"value {double}, passed {boolean}, outcome TEXT, reason TEXT, details TEXT, repeats TEXT"
    sql(location, f"CREATE TABLE scores ({keys}, {values}, PRIMARY KEY (run_id, position, sample, metric))")
    for *place, answer, text, judges in sql(
        location, "SELECT run_id, position, sample, answer, scores, judges FROM sample_results"
    ):
        if answer is not None:
            digest = hashlib.sha256(answer.encode()).hexdigest()
            own = "WHERE run_id = ? AND position = ? AND sample = ? AND answer_hash IS NULL"
            sql(location, f"UPDATE sample_results SET answer_hash = ? {own}", digest, *place)
        for metric, score in json.loads(text or "{}").items():
            judge = json.loads(judges or "{}").get(metric)
            reason = score.get("reason") or score.get("rationale")
            measured = (score["score"], score["passed"], score.get("status", "scored"), reason)
            parts = [json.dumps(score[name]) if score.get(name) else None for name in ("details", "repeats")]
            marks = ", ".join(["?"] * 11)
            sql(location, f"INSERT INTO scores VALUES ({marks})", *place, metric, judge, *measured, *parts)
    for column in ("scores", "judges", "passed"):
        sql(location, f"ALTER TABLE sample_results DROP COLUMN {column}")


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
