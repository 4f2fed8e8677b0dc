"""Opening a database: what it is, whether it may be touched, and the steps that make it one of this version."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    create_engine,
    event,
    func,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.store.dialects import add_functions
from prompt_evaluator.store.filling import fill_runs
from prompt_evaluator.store.ownership import FileOwnership, Ownership, ServerOwnership, only_one
from prompt_evaluator.store.schema import HEAD, METADATA, REVISIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.ports import Fill

_KNOWN = (
    ("is locked", "is locked by another process", "Wait for that process or end it, and try again."),
    ("lock timeout", "is locked by another process", "Wait for that process or end it, and try again."),
    ("is full", "cannot grow: the disk is full", "Free some space, then resume the run."),
    ("no space left", "cannot grow: the server's disk is full", "Free some space there, then resume the run."),
    ("disk i/o error", "cannot be written (disk I/O error)", "Look for a full disk or a file-size limit, then resume."),
    ("readonly", "is read-only", "Give this user the right to write the file and its directory."),
    ("unable to open", "cannot be opened", "Check that the file and its directory may be read and written."),
    ("not a database", "is not a database", "It was left as it is: move it away, or name another store."),
    ("malformed", "is damaged", "It was left as it is: put a copy in its place, or try `sqlite3 FILE .recover`."),
)
FAILURES = (SQLAlchemyError, sqlite3.Error, UnicodeError)
"""What a database can raise; the driver's own comes from where SQLAlchemy does not look.

The last is for a run id or the name of a host that is no text."""

_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""As Alembic makes it."""
_WITHOUT_RESULTS = ("0001", "0002")
"""Revisions of stores that had no result rows."""
_MIGRATION_KEY = 5_067_402_301
_SHOWN_OPTIONS = ("host", "port")
_SECRET_OPTIONS = ("password", "sslpassword")
_OPTIONS = {
    "client_encoding": "utf8",  # or all texts are bytes, where the database was made without a locale
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "tcp_user_timeout": "60000",
}
"""Unless the address says otherwise. A server that is gone without a word is noticed within a minute."""
_SESSION = """
    SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
        ('lock_timeout', %s),
        ('idle_session_timeout', '0'),  -- an owner does nothing but hold its run
        ('tcp_keepalives_idle', '30'), ('tcp_keepalives_interval', '10'), ('tcp_keepalives_count', '3')
    ) AS wanted (name, value) USING (name)
"""
"""Of our own sessions, where the server knows the setting. A machine that vanishes gives up its runs in a minute."""


class Database(NamedTuple):
    """An open database and the few things that depend on its kind."""

    engine: Engine
    where: str
    """For people; without a password."""
    ownership: Ownership


def open_database(location: Path | str, *, patience: float, fill: Fill | None) -> Database:
    """Connect, check that it is ours, and bring it up to date.

    Args:
        location: A file, or the address of a PostgreSQL database.
        patience: Seconds to wait for locks of other processes.
        fill: Makes results of the runs of an older store.
    """
    if isinstance(location, str) and "://" in location:
        return _server(location, patience, fill)
    return _file(Path(location).absolute(), patience, fill)


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn whatever the database says into a sentence."""
    try:
        yield
    except FAILURES as error:
        raise sentence(error, where) from error


def sentence(error: Exception, where: str) -> StoreError:
    lines = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()
    said = lines[0].rstrip(".") if lines else type(error).__name__
    for part, what, advice in _KNOWN:
        if part in said.lower():
            return StoreError(f"The store {where} {what}. {advice}")
    return StoreError(REDACTOR.text(f"The store {where} cannot be used: {said}. What was committed before is safe."))


def _file(path: Path, patience: float, fill: Fill | None) -> Database:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise StoreError(f"The store {path} is not a file. Name a file, such as {path / 'store.db'}.")
        new = not path.exists() or path.stat().st_size == 0
    except OSError as error:
        raise StoreError(f"The store {path} cannot be opened: {error.strerror}. Choose another place.") from error
    locks = path.parent / "locks"
    engine = _sqlite_engine(path, patience)
    with _disposed_on_failure(engine), explained(str(path)):
        if new or _needs_upgrade(engine, str(path)):
            with only_one(locks / f".{path.name}.lock", patience=patience):
                _upgrade_file(engine, str(path), fill)
    return Database(engine, str(path), FileOwnership(locks))


def _sqlite_engine(path: Path, patience: float) -> Engine:
    # Transactions are begun by us: the driver would begin them late, and tables would be made outside of them.
    engine = create_engine(
        URL.create("sqlite", database=str(path)), connect_args={"isolation_level": None, "timeout": patience}
    )
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _set_pragmas(connection: sqlite3.Connection, _record: object) -> None:
    # The log of changes is copied into the file every 40 MB, not every 4: what changes often is copied less often.
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON", "wal_autocheckpoint=10000"):
        connection.execute(f"PRAGMA {pragma}")
    add_functions(connection)


def _begin(connection: Connection) -> None:
    # A transaction that reads first and writes later can fail at once when another process writes in between.
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _upgrade_file(engine: Engine, where: str, fill: Fill | None) -> None:
    if not _needs_upgrade(engine, where):
        return
    connection = engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA journal_mode=WAL")  # is remembered in the file
    finally:
        connection.close()
    _upgrade(engine, fill)


def _server(location: str, patience: float, fill: Fill | None) -> Database:
    try:
        url = make_url(location)
        if url.get_backend_name() != "postgresql":
            raise StoreError(f"{url.drivername} is no kind of store. Name a file or a postgresql:// address.")
        if "@" in (url.host or ""):
            raise StoreError("The store's address has more than one @. Write one that belongs to a password as %40.")
        timeout = {"connect_timeout": str(max(2, round(patience)))}
        full = url.set(drivername="postgresql+psycopg", query={**timeout, **_OPTIONS, **url.query})
        engine = create_engine(full, pool_pre_ping=True)
    except (ArgumentError, ValueError) as error:
        raise StoreError("The store's address cannot be read. Write it as postgresql://user@host/database.") from error
    except ImportError as error:
        raise StoreError("A PostgreSQL store needs psycopg: pip install 'prompt-evaluator[postgres]'.") from error
    for secret in (url.password, *map(url.query.get, _SECRET_OPTIONS)):
        if isinstance(secret, str):
            REDACTOR.add(secret)
    shown = {name: value for name, value in url.query.items() if name in _SHOWN_OPTIONS}
    where = url.set(query=shown).render_as_string(hide_password=True)
    event.listen(engine, "connect", partial(_set_session, patience))
    with _disposed_on_failure(engine), explained(where):
        if _needs_upgrade(engine, where):
            _upgrade(engine, fill)
    return Database(engine, where, ServerOwnership(engine))


def _set_session(patience: float, connection: Any, _record: object) -> None:
    connection.execute(_SESSION, (str(round(patience * 1_000)),))
    connection.commit()


@contextmanager
def _disposed_on_failure(engine: Engine) -> Iterator[None]:
    try:
        yield
    except BaseException:
        engine.dispose()
        raise


def _needs_upgrade(engine: Engine, where: str) -> bool:
    """Whether it is new or older than this version; what is not ours or newer is refused."""
    with engine.connect() as connection:
        tables = set(inspect(connection).get_table_names())
        if not {"alembic_version", "runs"} <= tables:
            _refuse_foreign(connection, tables, where)
            return True
        revision: Any = connection.scalar(text("SELECT version_num FROM alembic_version"))
    if revision not in REVISIONS:
        raise StoreError(
            f"The store {where} has schema revision {revision}, but this version of prompt-evaluator knows only up to "
            f"{HEAD}. Update prompt-evaluator, or name another store."
        )
    return bool(revision != HEAD)


def _refuse_foreign(connection: Connection, tables: set[str], where: str) -> None:
    # A server's database may hold tables of others; a file with other tables is somebody else's file.
    strange = tables if connection.dialect.name == "sqlite" else tables & {"alembic_version", *METADATA.tables}
    if strange:
        raise StoreError(
            f"{where} is a database, but not a store: it has a table {min(strange)!r}. It was left as it is: "
            "name another store."
        )


def _upgrade(engine: Engine, fill: Fill | None) -> None:
    with engine.execution_options(writes=True).begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(select(func.pg_advisory_xact_lock(_MIGRATION_KEY)))
        before = _revision(connection)
        if before is None:
            # What the migrations would come to, step by step; a test holds both together.
            METADATA.create_all(connection, checkfirst=False)
            _VERSION.create(connection)
            connection.execute(_VERSION.insert().values(version_num=HEAD))
        elif before != HEAD:
            migrate(connection)
        if before in _WITHOUT_RESULTS:
            fill_runs(connection, fill)


def migrate(connection: Connection) -> None:
    """Take every step from the store's revision to the newest."""
    from alembic import command  # noqa: PLC0415 - costs 100 ms that only an old store is worth
    from alembic.config import Config  # noqa: PLC0415 - the same

    config = Config()
    config.set_main_option("script_location", "prompt_evaluator.store:migrations")
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _revision(connection: Connection) -> str | None:
    """None of a store that is being made."""
    if "alembic_version" not in inspect(connection).get_table_names():
        return None
    found: str | None = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return found
