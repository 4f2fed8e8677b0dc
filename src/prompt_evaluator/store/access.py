"""Shared by all parts of the store: read and write transactions, and finding and owning a run."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import StoreError
from prompt_evaluator.store.database import Database, explained
from prompt_evaluator.store.fence import check_owner, limit_idling
from prompt_evaluator.store.ownership import busy
from prompt_evaluator.store.run_names import find_run

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from sqlalchemy import Connection

    from prompt_evaluator.store.ownership import Held, OnLost


class Access:
    """An open database. Methods may be called from any thread and raise `StoreError` if the store fails."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._reading = database.engine
        self._writing = database.engine.execution_options(writes=True)
        self._leases: dict[str, Held] = {}
        """The runs that are owned through this store."""

    def close(self) -> None:
        self._database.engine.dispose()

    @property
    def where(self) -> str:
        """For display; without a password."""
        return self._database.where

    def full_id(self, name: str) -> str:
        """Return the id of the run that a name means; see `run_names`."""
        with self._read() as connection:
            return find_run(connection, name)

    @contextmanager
    def own(self, run_id: str, on_lost: OnLost | None = None) -> Iterator[Held]:
        """Be the only process working on this run, or raise `RunBusyError` naming the one that is.

        On a server, another process can take the run from one that was stopped or cut off. What this store writes to
        the run after that raises `OwnershipLostError`. Until the context of a lost run has ended, this store cannot own
        it again: what still writes in that context would be taken for the new owner.

        Args:
            run_id: The run.
            on_lost: Called, in another thread, when this process no longer owns it, or when the server is gone.
        """
        with ExitStack() as held:
            with explained(self._database.where):
                lease = held.enter_context(self._database.ownership.own(run_id, on_lost))
            if self._leases.setdefault(run_id, lease) is not lease:
                raise busy(run_id, "this process, which has lost it and is about to stop")
            held.callback(self._leases.pop, run_id)
            yield lease

    def owner(self, run_id: str) -> str | None:
        """The process working on this run, such as `process 12 on host since 2025-01-01T00:00:00Z`, if any."""
        return self.owners([run_id]).get(run_id)

    def owners(self, run_ids: Collection[str]) -> dict[str, str]:
        """The processes working on these runs, by run; only those that somebody works on."""
        with explained(self._database.where):
            return self._database.ownership.owners(run_ids)

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with explained(self._database.where), self._reading.connect() as connection:
            yield connection

    @contextmanager
    def _write(self, *, quick: bool = True) -> Iterator[Connection]:
        """A transaction; one that is not quick may do nothing for a while, such as read a file between statements."""
        with explained(self._database.where), self._writing.begin() as connection:
            if quick:
                limit_idling(connection)
            yield connection

    @contextmanager
    def _write_run(self, run_id: str) -> Iterator[Connection]:
        """A transaction that changes a run. Raise `OwnershipLostError` if this process owned it and another has it."""
        with self._write() as connection:
            check_owner(connection, self._leases.get(run_id))
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
