"""Creates the tables of a new store, and refuses what is not a store of this version."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import Column, MetaData, String, Table, func, inspect, select

from prompt_evaluator.errors import StoreError
from prompt_evaluator.store import result_tables as _results  # noqa: F401 - adds its tables to the schema
from prompt_evaluator.store.schema import METADATA, REVISION

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

_VERSION = Table("store_version", MetaData(), Column("revision", String(32), primary_key=True))
_CREATION_KEY = 5_067_402_301


def has_tables(engine: Engine, where: str) -> bool:
    """Whether there is a store; False if there is nothing yet.

    Raises:
        StoreError: It is a store of another version, or not a store.
    """
    with engine.connect() as connection:
        return _has_tables(connection, where)


def create_tables(engine: Engine, where: str) -> None:
    """Create all tables in one transaction. If two processes do this at once, one finds nothing to do."""
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_CREATION_KEY)))
        if not _has_tables(connection, where):
            METADATA.create_all(connection, checkfirst=False)
            _VERSION.create(connection)
            connection.execute(_VERSION.insert().values(revision=REVISION))


def _has_tables(connection: Connection, where: str) -> bool:
    tables = set(inspect(connection).get_table_names())
    if not {_VERSION.name, "runs"} <= tables:
        _refuse_foreign(connection, tables, where)
        return False
    revision = connection.scalar(select(_VERSION.c.revision))
    if revision != REVISION:
        raise StoreError(
            f"The store {where} has schema revision {revision}, but this version of prompt-evaluator needs {REVISION}: "
            "use the version that made the store, or name another store."
        )
    return True


def _refuse_foreign(connection: Connection, tables: set[str], where: str) -> None:
    # A server's database may hold other tables too; a file with other tables belongs to another program.
    foreign = tables if connection.dialect.name == "sqlite" else tables & {_VERSION.name, *METADATA.tables}
    if foreign:
        raise StoreError(
            f"{where} is a database, but not a store: it has a table {min(foreign)!r}. It was left unchanged: "
            "name another store."
        )
