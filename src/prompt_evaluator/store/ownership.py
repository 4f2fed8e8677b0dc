"""Ensures that only one process works on a run; a killed process releases its runs."""

from __future__ import annotations

import fcntl
import os
import re
import socket
import time
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from prompt_evaluator.errors import RunBusyError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from sqlalchemy import Engine

_SAFE = re.compile(r"[a-z0-9_-][a-z0-9._-]{0,99}")
_PAUSE = 0.005
_DYING = 0.5
"""Seconds a server may take to notice that an owner's process is gone."""


class Ownership(Protocol):
    """Which process works on which run."""

    def own(self, run_id: str) -> AbstractContextManager[None]:
        """Hold the run, or raise `RunBusyError`. Released when the process ends, however it ends."""

    def owner(self, run_id: str) -> str | None:
        """The process that holds the run now. Asking never prevents another process from taking it."""


class FileOwnership:
    """File locks next to the store. The system releases them with the process, so owners are never stale."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def own(self, run_id: str) -> Iterator[None]:
        with _opened(self._file(run_id)) as file:
            if not _taken(file, patience=5):
                raise _busy(run_id, _read(file))
            _write(file, _myself())
            try:
                yield
            finally:
                _write(file, "")

    def owner(self, run_id: str) -> str | None:
        path = self._file(run_id)
        if not path.exists():
            return None
        with _opened(path) as file:
            return _read(file) if _held(file) else None

    def _file(self, run_id: str) -> Path:
        # Names that a file system could refuse or confuse are replaced by their hash.
        name = run_id if _SAFE.fullmatch(run_id) else f"+{sha256(run_id.encode(errors='surrogatepass')).hexdigest()}"
        return self._folder / f"{name}.lock"


class ServerOwnership:
    """Advisory locks of a PostgreSQL server, which releases them with the connection."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def own(self, run_id: str) -> Iterator[None]:
        key = _key(run_id)
        with self._engine.connect() as connection:
            connection.detach()  # closed at the end, not returned to the pool with the lock on it
            connection.execute(text("SELECT set_config('application_name', :who, false)"), {"who": _myself()})
            until = time.monotonic() + _DYING
            while not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": key}):
                if time.monotonic() > until:
                    raise _busy(run_id, self.owner(run_id) or "")
                time.sleep(_PAUSE)
            connection.commit()
            try:
                yield
            finally:
                with suppress(SQLAlchemyError):  # closing unlocks too, but a moment later; a lost server has no locks
                    connection.scalar(text("SELECT pg_advisory_unlock(:key)"), {"key": key})
                    connection.commit()

    def owner(self, run_id: str) -> str | None:
        key = _key(run_id)
        halves = {"high": key >> 32 & 0xFFFFFFFF, "low": key & 0xFFFFFFFF}
        with self._engine.connect() as connection:
            who: str | None = connection.scalar(_ADVISORY_OWNER, halves)
        return who


_ADVISORY_OWNER = text("""
    SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
      AND l.classid::bigint = :high AND l.objid::bigint = :low
      AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
""")


@contextmanager
def only_one(path: Path, *, patience: float) -> Iterator[None]:
    """Wait until no other process holds this lock."""
    with _opened(path) as file:
        if not _taken(file, patience=patience, wait_for_owner=True):
            raise StoreError(f"{path} has been locked by another process for {patience:g} s. End it, then try again.")
        yield


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise StoreError(
            f"The lock file {path} cannot be used: {error.strerror}. Check the permissions of its directory."
        ) from error
    try:
        yield file
    finally:
        os.close(file)


def _taken(file: int, *, patience: float, wait_for_owner: bool = False) -> bool:
    """Take the lock. A shared lock means that a process is asking for the owner; it is released in a moment."""
    until = time.monotonic() + patience
    while not _locked(file, fcntl.LOCK_EX):
        if (not wait_for_owner and _held(file)) or time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True


def _held(file: int) -> bool:
    if not _locked(file, fcntl.LOCK_SH):
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _write(file: int, who: str) -> None:
    with suppress(OSError):  # on a full disk the lock still works, just without its owner's name
        os.ftruncate(file, 0)
        os.pwrite(file, who.encode(), 0)


def _read(file: int) -> str:
    return os.pread(file, 1000, 0).decode(errors="replace") or "another process"


def _myself() -> str:
    return f"process {os.getpid()} on {socket.gethostname()} since {datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _busy(run_id: str, who: str) -> RunBusyError:
    return RunBusyError(
        f"Run {run_id} is in use by {who or 'another process'}. Wait for it to end or stop it, then try again."
    )


def _key(run_id: str) -> int:
    return int.from_bytes(sha256(run_id.encode(errors="surrogatepass")).digest()[:8], "big", signed=True)
