"""Shared by all parts of the store: read and write transactions, and finding a run by a prefix of its id."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import msgspec
from sqlalchemy import func, select

from prompt_evaluator.errors import StoreError, UnknownNameError
from prompt_evaluator.hints import nearest, some_of
from prompt_evaluator.store.migrate import Database, explained
from prompt_evaluator.store.schema import RUNS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

_SHORTEST_PREFIX = 4
_SHOWN = 10
_LOOKED_AT = 1_000


class Access:
    """An open database. Methods may be called from any thread and raise `StoreError` if the store fails."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reading = database.engine
        self._writing = database.engine.execution_options(writes=True)

    def close(self) -> None:
        self._database.engine.dispose()

    def full_id(self, run_id: str) -> str:
        """Return the full id of the run with this id or unique id prefix."""
        with self._read() as connection:
            return self._full_id(connection, run_id)

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with explained(self._database.where), self._reading.connect() as connection:
            yield connection

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with explained(self._database.where), self._writing.begin() as connection:
            yield connection

    @contextmanager
    def _readable(self, run_id: str) -> Iterator[None]:
        try:
            yield
        except msgspec.DecodeError as error:
            raise StoreError(
                f"Run {run_id} in {self._database.where} cannot be read: {error}. It was left unchanged; another "
                "version of prompt-evaluator may have written it."
            ) from error

    def _full_id(self, connection: Connection, run_id: str) -> str:
        if connection.scalar(select(RUNS.c.run_id).where(RUNS.c.run_id == run_id)):
            return run_id
        begins = func.substr(RUNS.c.run_id, 1, len(run_id)) == run_id
        matches = connection.scalars(select(RUNS.c.run_id).where(begins).order_by(RUNS.c.run_id).limit(_SHOWN)).all()
        if not matches or len(run_id) < _SHORTEST_PREFIX:
            raise self._unknown(connection, run_id)
        if len(matches) > 1:
            several = some_of(matches, total=connection.scalar(select(func.count()).select_from(RUNS).where(begins)))
            raise StoreError(f"{run_id!r} matches several runs: {several}. Give more characters of the id.")
        return str(matches[0])

    def _unknown(self, connection: Connection, run_id: str) -> UnknownNameError:
        newest = connection.scalars(
            select(RUNS.c.run_id).order_by(RUNS.c.started_at.desc(), RUNS.c.run_id.desc()).limit(_LOOKED_AT)
        ).all()
        total = connection.scalar(select(func.count()).select_from(RUNS))
        near = nearest(run_id, newest, cutoff=0.5)
        return UnknownNameError("run", run_id, [near] if near else newest[:_SHOWN], total=total)
