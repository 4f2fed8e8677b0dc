"""Shared by all parts of the store: read and write transactions, and finding and owning a run."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import StoreError
from prompt_evaluator.store.migrate import Database, explained
from prompt_evaluator.store.run_names import find_run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection

    from prompt_evaluator.model.upkeep import Migration


class Access:
    """An open database. Methods may be called from any thread and raise `StoreError` if the store fails."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reading = database.engine
        self._writing = database.engine.execution_options(writes=True)

    def close(self) -> None:
        self._database.engine.dispose()

    @property
    def where(self) -> str:
        """For display; without a password."""
        return self._database.where

    @property
    def migration(self) -> Migration | None:
        """What opening the store has changed."""
        return self._database.migration

    def full_id(self, name: str) -> str:
        """Return the id of the run that a name means; see `run_names`."""
        with self._read() as connection:
            return find_run(connection, name)

    @contextmanager
    def own(self, run_id: str) -> Iterator[None]:
        """Be the only process working on this run, or raise `RunBusyError` naming the one that is."""
        with ExitStack() as held:
            with explained(self._database.where):
                held.enter_context(self._database.ownership.own(run_id))
            yield

    def owner(self, run_id: str) -> str | None:
        """The process working on this run, such as `process 12 on host since 2025-01-01T00:00:00Z`, if any."""
        with explained(self._database.where):
            return self._database.ownership.owner(run_id)

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
