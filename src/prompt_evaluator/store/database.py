"""Opens a database: connects to it, checks that it is a store, and creates its tables if it is empty."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from prompt_evaluator.errors import StoreError, StoreUnreachableError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.store.creation import create_tables, has_tables
from prompt_evaluator.store.dialects import add_functions
from prompt_evaluator.store.ownership import FileOwnership, Ownership, ServerOwnership, only_one
from prompt_evaluator.store.sessions import check_server

if TYPE_CHECKING:
    from collections.abc import Iterator

_KNOWN = (
    ("is locked", "is locked by another process", "Wait for that process or end it, then try again."),
    ("lock timeout", "is locked by another process", "Wait for that process or end it, then try again."),
    ("is full", "cannot grow: the disk is full", "Free some space, then resume the run."),
    ("no space left", "cannot grow: the server's disk is full", "Free some space there, then resume the run."),
    ("disk i/o error", "cannot be written (disk I/O error)", "Check for a full disk or file-size limit, then resume."),
    ("readonly", "is read-only", "Give this user write permission on the file and its directory."),
    ("unable to open", "cannot be opened", "Check the permissions of the file and its directory."),
    ("not a database", "is not a database", "It was left unchanged: move it away, or name another store."),
    ("malformed", "is damaged", "It was left unchanged: restore a backup, or try `sqlite3 FILE .recover`."),
)
_CUT = ("57P01", "57P02", "57P03", "57P05", "25P03")
"""Codes of a server that ends a session: it stops, has crashed, is starting, or the session was idle for too long."""
FAILURES = (SQLAlchemyError, sqlite3.Error, UnicodeError)
"""Errors a database can raise. SQLAlchemy does not wrap all of the driver's.

UnicodeError is for a run id or host name that is not valid text."""

_SHOWN_OPTIONS = ("host", "port")
_SECRET_OPTIONS = ("password", "sslpassword")
_OPTIONS = {
    "client_encoding": "utf8",  # otherwise a database created without a locale returns all text as bytes
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "2",
    "tcp_user_timeout": "20000",
}
"""Defaults, which the URL can override. A server that vanishes silently is noticed within 20 seconds."""
_SESSION = """
    SELECT set_config(name, value, false) FROM pg_settings JOIN (VALUES
        ('lock_timeout', %s),
        ('idle_session_timeout', '0'),  -- a pooled session may be idle; one that holds a run sets its own limit
        ('tcp_keepalives_idle', '10'), ('tcp_keepalives_interval', '5'), ('tcp_keepalives_count', '2')
    ) AS wanted (name, value) USING (name)
"""
"""Settings of our sessions, if the server knows them. A client that vanishes is noticed within 20 seconds."""


class Database(NamedTuple):
    """An open database, and what depends on its kind."""

    engine: Engine
    where: str
    """For display; without a password."""
    ownership: Ownership


def open_database(location: Path | str, *, patience: float) -> Database:
    """Connect, check that the database is a store, and make one of an empty one.

    Args:
        location: A file, or the URL of a PostgreSQL database.
        patience: Seconds to wait for locks held by other processes.
    """
    if isinstance(location, str) and "://" in location:
        database = _server(location, patience)
        with _checked(database):
            if not has_tables(database.engine, database.where):
                create_tables(database.engine, database.where)
        return database
    path = Path(location).absolute()
    is_new = _is_new(path)
    locks = path.parent / "locks"
    database = Database(_file_engine(path, patience), str(path), FileOwnership(locks))
    with _checked(database):
        if is_new or not has_tables(database.engine, database.where):
            with only_one(locks / f".{path.name}.lock", patience=patience):
                _create_file(database)
    return database


def open_unchanged(location: Path | str, *, patience: float) -> Database | None:
    """Connect to a store, to look at it without changing anything; None if there is none yet.

    Args:
        location: A file, or the URL of a PostgreSQL database.
        patience: Seconds to wait for locks held by other processes.
    """
    if isinstance(location, str) and "://" in location:
        database = _server(location, patience)
    else:
        path = Path(location).absolute()
        if not path.exists() or (path.is_file() and path.stat().st_size == 0):
            return None
        database = Database(_unchanged_file_engine(path, patience), str(path), FileOwnership(path.parent / "locks"))
    with _checked(database):
        if has_tables(database.engine, database.where):
            return database
    database.engine.dispose()
    return None


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn database errors into a StoreError with advice."""
    try:
        yield
    except FAILURES as error:
        raise sentence(error, where) from error


def sentence(error: Exception, where: str) -> StoreError:
    lines = str(error.orig if isinstance(error, DBAPIError) else error).strip().splitlines()
    reason = lines[0].rstrip(".") if lines else type(error).__name__
    for part, what, advice in _KNOWN:
        if part in reason.lower():
            return StoreError(f"The store {where} {what}. {advice}")
    kind = StoreUnreachableError if _is_unreachable(error) else StoreError
    return kind(REDACTOR.message(f"The store {where} cannot be used: {reason}. All committed results are safe."))


def _is_unreachable(error: Exception) -> bool:
    if not isinstance(error, DBAPIError):
        return False
    # A driver of a server gives a code for everything but a connection that failed; that of a file never has one.
    no_code = isinstance(error, OperationalError) and getattr(error.orig, "sqlstate", "") is None
    return error.connection_invalidated or no_code or getattr(error.orig, "sqlstate", "") in _CUT


def _is_new(path: Path) -> bool:
    """Whether the file is not there or empty. Makes its folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():
            raise StoreError(f"The store {path} is not a file. Name a file, such as {path / 'store.db'}.")
        return not path.exists() or path.stat().st_size == 0
    except OSError as error:
        raise StoreError(f"The store {path} cannot be opened: {error.strerror}. Choose another place.") from error


def _file_engine(path: Path, patience: float) -> Engine:
    return _sqlite_engine(URL.create("sqlite", database=str(path)), patience)


def _unchanged_file_engine(path: Path, patience: float) -> Engine:
    # Even to read, SQLite makes files next to a database with a write-ahead log. Without a log, nobody else has the
    # database open, so it can be read as a file that never changes.
    never_changes = not Path(f"{path}-wal").exists()
    query = {"mode": "ro", "uri": "true", **({"immutable": "1"} if never_changes else {})}
    return _sqlite_engine(URL.create("sqlite", database=f"file:{quote(str(path))}", query=query), patience)


def _sqlite_engine(url: URL, patience: float) -> Engine:
    # We begin transactions ourselves: the driver would begin them late, and create tables outside of them.
    engine = create_engine(url, connect_args={"isolation_level": None, "timeout": patience})
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def _set_pragmas(connection: sqlite3.Connection, _record: object) -> None:
    # Checkpoint the write-ahead log every 40 MB instead of every 4, so that hot pages are copied less often. Each
    # connection keeps 1 MB of pages instead of 2: what a run writes at once, and there are several connections.
    for pragma in ("synchronous=NORMAL", "foreign_keys=ON", "wal_autocheckpoint=10000", "cache_size=-1000"):
        connection.execute(f"PRAGMA {pragma}")
    add_functions(connection)


def _begin(connection: Connection) -> None:
    # A transaction that reads first and writes later fails immediately if another process writes in between.
    writes = connection.get_execution_options().get("writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _create_file(database: Database) -> None:
    if has_tables(database.engine, database.where):  # another process has made them meanwhile
        return
    connection = database.engine.raw_connection()
    try:
        connection.cursor().execute("PRAGMA journal_mode=WAL")  # persists in the file
    finally:
        connection.close()
    create_tables(database.engine, database.where)


def _server(location: str, patience: float) -> Database:
    try:
        url = make_url(location)
        if url.get_backend_name() != "postgresql":
            raise StoreError(f"A store cannot be a {url.drivername} database. Name a file or a postgresql:// URL.")
        if "@" in (url.host or ""):
            raise StoreError("The store's URL has more than one @. Write an @ in a password as %40.")
        timeout = {"connect_timeout": str(max(2, round(patience)))}
        full = url.set(drivername="postgresql+psycopg", query={**timeout, **_OPTIONS, **url.query})
        engine = create_engine(full, pool_pre_ping=True)
    except (ArgumentError, ValueError) as error:
        raise StoreError("The store's URL cannot be parsed. Write it as postgresql://user@host/database.") from error
    except ImportError as error:
        raise StoreError("A PostgreSQL store needs psycopg: pip install 'prompt-verdict[postgres]'.") from error
    for secret in (url.password, *map(url.query.get, _SECRET_OPTIONS)):
        if isinstance(secret, str):
            REDACTOR.add(secret)
    shown = {name: value for name, value in url.query.items() if name in _SHOWN_OPTIONS}
    where = url.set(query=shown).render_as_string(hide_password=True)
    event.listen(engine, "connect", partial(_set_session, patience))
    database = Database(engine, where, ServerOwnership(engine))
    with _checked(database):
        check_server(engine, where)
    return database


def _set_session(patience: float, connection: Any, _record: object) -> None:
    connection.execute(_SESSION, (str(round(patience * 1_000)),))
    connection.commit()


@contextmanager
def _checked(database: Database) -> Iterator[None]:
    """Explain errors, and close the database if there is one."""
    try:
        with explained(database.where):
            yield
    except BaseException:
        database.engine.dispose()
        raise
