"""A PostgreSQL server of the tests' own: in a temporary folder, gone with them, never the system's."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUIRED = "PROMPT_EVALUATOR_TEST_POSTGRES"
"""A variable: when it is `required`, a machine without PostgreSQL fails the tests instead of skipping them."""

USER = "tester"
GUARDED = "guarded"
"""A role that needs a password. Neither it nor any other is there at first; see `role`."""

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "60",
    "autovacuum": "off",
}
_SECONDS = 60
_PORTS = 10


def programs() -> Path | None:
    """Where `initdb` and `postgres` are; Debian keeps them off the path."""
    found = shutil.which("initdb")
    installed = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    path = Path(found) if found else installed[-1] if installed else None
    return path.resolve().parent if path else None


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A cluster for a whole session of tests; they are skipped where there is no PostgreSQL."""
    folder = programs()
    if folder is None:
        said = "no initdb here: install PostgreSQL, such as Debian's package `postgresql`"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(f"{said} ({REQUIRED}=required)")
        pytest.skip(said)
    cluster = Cluster(folder)
    try:
        cluster.create()
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(cluster.folder)


class Cluster:
    """One server. A test may stop it for a while, as tests of one session take turns."""

    def __init__(self, programs: Path) -> None:
        # A short path: that of a socket may have 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="pe-postgres-", dir="/tmp"))
        self._programs = programs
        self._data = self.folder / "data"
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0
        self._numbers = count(1)
        self._user: int | None = None
        self._group: int | None = None
        if os.geteuid() == 0:  # PostgreSQL refuses to run as root
            names = {entry.pw_name: entry for entry in pwd.getpwall()}
            somebody = names.get("postgres") or names["nobody"]
            self._user, self._group = somebody.pw_uid, somebody.pw_gid
            os.chown(self.folder, self._user, self._group)

    def create(self) -> None:
        how = ["-U", USER, "--auth=trust", "--no-sync", "--encoding=UTF8", "--no-locale"]
        made = self._popen("initdb", "-D", str(self._data), *how)
        assert made.wait(_SECONDS) == 0, self._log()
        rules = self._data / "pg_hba.conf"
        rules.write_text(f"host all {GUARDED} 127.0.0.1/32 scram-sha-256\n{rules.read_text('utf-8')}", "utf-8")

    def start(self) -> None:
        for _ in range(_PORTS):  # somebody may take the port between us and the server
            self._port = _free_port()
            settings = [part for item in _SETTINGS.items() for part in ("-c", "=".join(item))]
            where = ["-D", str(self._data), "-k", str(self.folder), "-p", str(self._port)]
            self._process = self._popen("postgres", *where, *settings)
            if self._answers():
                return
        pytest.fail(f"PostgreSQL does not start: {self._log()}")

    def stop(self) -> None:
        """End it at once, as a crash would; what was committed is there after the next start."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)
            try:
                self._process.wait(_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(_SECONDS)

    @property
    def port(self) -> int:
        return self._port

    @contextmanager
    def gone(self) -> Iterator[None]:
        """Stopped in between; it may have another port afterwards."""
        self.stop()
        try:
            yield
        finally:
            self.start()

    def address(self, database: str) -> str:
        return f"postgresql://{USER}@127.0.0.1:{self._port}/{database}"

    def address_of_socket(self, database: str) -> str:
        return f"postgresql://{USER}@/{database}?host={self.folder}&port={self._port}"

    def execute(self, statement: str) -> None:
        """Run a statement that stands outside of any transaction, such as CREATE DATABASE."""
        limits = f"-c statement_timeout={_SECONDS}s"
        with psycopg.connect(
            self.address("postgres"), autocommit=True, connect_timeout=_SECONDS, options=limits
        ) as connection:
            connection.execute(statement.encode())

    @contextmanager
    def role(self, name: str, password: str = "") -> Iterator[str]:
        """A user who is nobody special."""
        self.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'")
        try:
            yield name
        finally:
            self.execute(f"DROP ROLE {name}")

    @contextmanager
    def database(self, options: str = "") -> Iterator[str]:
        """The name of a new database, which is dropped at the end."""
        name = f"test_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} {options}")
        try:
            yield name
        finally:
            self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def _popen(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        # Linux leaves no server behind when the tests themselves are killed.
        dies_with_us = ["setpriv", "--pdeathsig", "QUIT"] if shutil.which("setpriv") else []
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [*dies_with_us, self._programs / program, *arguments],
                cwd=self.folder,
                env={"PATH": os.defpath, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=self._user,
                group=self._group,
                extra_groups=None if self._user is None else [],
            )

    def _answers(self) -> bool:
        assert self._process is not None
        deadline = time.monotonic() + _SECONDS
        while self._process.poll() is None and time.monotonic() < deadline:
            try:
                psycopg.connect(self.address("postgres"), connect_timeout=5).close()
            except psycopg.OperationalError:
                time.sleep(0.02)
            else:
                return self._process.poll() is None
        return False

    def _log(self) -> str:
        return (self.folder / "log").read_text("utf-8", "replace")[-2_000:]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
