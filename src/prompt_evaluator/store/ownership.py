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
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from prompt_evaluator.errors import RunBusyError, StoreError
from prompt_evaluator.store.fence import raise_epoch

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from sqlalchemy import Engine

    from prompt_evaluator.errors import OwnershipLostError

    OnLost = Callable[[OwnershipLostError], None]

_SAFE = re.compile(r"[a-z0-9_-][a-z0-9._-]{0,99}")
_PAUSE = 0.005
_DYING = 0.5
"""Seconds a server may take to notice that an owner's process is gone."""


class Held(Protocol):
    """A run that this process works on."""

    @property
    def run_id(self) -> str: ...

    @property
    def epoch(self) -> int | None:
        """How many owners the run has had, this one included; None if nobody can take it while it is held."""

    @property
    def is_held(self) -> bool:
        """Whether no other process can have taken it."""


class HeldFile(NamedTuple):
    """A run held by a lock on a file, which lasts as long as the process."""

    run_id: str
    epoch: None = None
    is_held: bool = True


class Ownership(Protocol):
    """Which process works on which run. Names may be anything, such as that of a worker."""

    def own(self, run_id: str, on_lost: OnLost | None = None) -> AbstractContextManager[Held]:
        """Hold the run, or raise `RunBusyError`. Released when the process ends, however it ends.

        Args:
            run_id: The run.
            on_lost: Called, in another thread, if it is released before that.
        """

    def owners(self, run_ids: Collection[str]) -> dict[str, str]:
        """The processes that hold these runs now. Asking never prevents another process from taking one."""

    def forget(self, run_id: str) -> None:
        """Leave nothing behind of a run that this process holds and has deleted."""


class FileOwnership:
    """File locks next to the store. The system releases them with the process, so owners are never stale."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def own(self, run_id: str, on_lost: OnLost | None = None) -> Iterator[Held]:  # noqa: ARG002 - it never is
        with _opened(self._file(run_id)) as file:
            if not _taken(file, patience=5):
                raise busy(run_id, _read(file))
            _write(file, _myself())
            try:
                yield HeldFile(run_id)
            finally:
                _write(file, "")

    def owners(self, run_ids: Collection[str]) -> dict[str, str]:
        return {run_id: who for run_id in run_ids if (who := self._owner(run_id))}

    def forget(self, run_id: str) -> None:
        with suppress(OSError):
            self._file(run_id).unlink()

    def _owner(self, run_id: str) -> str | None:
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
    """Advisory locks of a PostgreSQL server, which releases them with the session; see `lease`."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    @contextmanager
    def own(self, run_id: str, on_lost: OnLost | None = None) -> Iterator[Held]:
        from prompt_evaluator.store.lease import SECONDS, SessionLease  # noqa: PLC0415 - psycopg is an extra

        key = {"key": _key(run_id)}
        with self._engine.connect() as connection:
            connection.detach()  # closed at the end, not returned to the pool with the lock on it
            connection.execute(_BEGIN, {"who": _myself(), "limit": str(round(SECONDS * 1_000))})
            until = time.monotonic() + _DYING
            while not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), key):
                if time.monotonic() > until:
                    raise busy(run_id, self.owners([run_id]).get(run_id, ""))
                time.sleep(_PAUSE)
            epoch = raise_epoch(connection, run_id)
            connection.commit()
            session: Any = connection.connection.dbapi_connection
            lease = SessionLease(run_id, epoch, session, on_lost)
            try:
                yield lease
            finally:
                if lease.end():
                    with suppress(SQLAlchemyError):  # closing unlocks too, but a moment later
                        connection.scalar(text("SELECT pg_advisory_unlock(:key)"), key)
                        connection.commit()
                else:
                    session.close()  # a detached one is not closed by invalidating it
                    connection.invalidate()

    def owners(self, run_ids: Collection[str]) -> dict[str, str]:
        if not run_ids:
            return {}
        with self._engine.connect() as connection:
            held = {(high << 32) + low: who for high, low, who in connection.execute(_OWNERS)}
        keys = {run_id: _key(run_id) % (1 << 64) for run_id in run_ids}
        return {run_id: held[key] for run_id, key in keys.items() if key in held}

    def forget(self, run_id: str) -> None:
        """Locks end with the session."""


_BEGIN = text("""
    SELECT set_config('application_name', :who, false), set_config('idle_session_timeout', :limit, false),
           set_config('idle_in_transaction_session_timeout', :limit, false)  -- if stopped while it takes the run
""")
_OWNERS = text("""
    SELECT l.classid::bigint, l.objid::bigint, a.application_name
    FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
    WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
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


def busy(run_id: str, who: str) -> RunBusyError:
    return RunBusyError(
        f"Run {run_id} is in use by {who or 'another process'}. Wait for it to end or stop it, then try again."
    )


def _key(run_id: str) -> int:
    return int.from_bytes(sha256(run_id.encode(errors="surrogatepass")).digest()[:8], "big", signed=True)
