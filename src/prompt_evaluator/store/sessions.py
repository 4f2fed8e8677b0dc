"""Refuses a server on which a session cannot hold a run: an old one, or one behind a pooler that shares sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from prompt_evaluator.errors import StoreError

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

OLDEST = 140_000
"""PostgreSQL 14 is the first that ends an idle session, which is how a stopped owner loses its run."""
_ROUNDS = 10
_PID = text("SELECT pg_backend_pid()")
_FACTS = text("SELECT pg_backend_pid() AS pid, current_setting('server_version_num')::int AS version")


def check_server(engine: Engine, where: str) -> None:
    """Raise `StoreError` if the server is too old, or a pooler gives a connection another session now and then."""
    with engine.connect() as connection:
        facts = connection.execute(_FACTS).one()
        # A pooler answers a new client before it has a session for it, so it cannot tell it the session's number.
        is_direct = connection.connection.driver_connection.info.backend_pid == facts.pid  # type: ignore[union-attr] # psycopg's
    refuse_old(facts.version, where)
    if not is_direct and not _keeps_sessions(engine):
        raise StoreError(
            f"The store {where} is behind a pooler that shares sessions between transactions, such as PgBouncer with "
            "pool_mode=transaction. A run is held by a session, so it would be held by nobody. Name the server's own "
            "address, or a pool with pool_mode=session."
        )


def refuse_old(version: int, where: str) -> None:
    """Raise `StoreError` if a server of this version cannot end idle sessions."""
    if version < OLDEST:
        raise StoreError(
            f"The store {where} is on PostgreSQL {version // 10_000}, which cannot tell that a process was stopped. "
            "Use PostgreSQL 14 or newer."
        )


def _keeps_sessions(engine: Engine) -> bool:
    """Whether a connection keeps its session while another one begins a transaction in between.

    A pooler that shares sessions usually gives the other connection the session just used; or, taking turns, another
    one to the first. Clients of other processes may come in between, so it is tried several times.
    """
    with engine.connect() as one, engine.connect() as other:
        for _ in range(_ROUNDS):
            before = _session(one)
            try:
                between = other.scalar(_PID)
            except DBAPIError:  # as from a pooler that shares sessions between statements
                return False
            if between == before or _session(one) != before:
                return False
            other.rollback()
    return True


def _session(connection: Connection) -> int | None:
    """The session's number, in a transaction of its own."""
    number: int | None = connection.scalar(_PID)
    connection.rollback()
    return number
