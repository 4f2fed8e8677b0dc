"""PgBouncer in front of a server of the tests' own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from postgres_server import REQUIRED, USER
from sqlalchemy import make_url

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS = 60
_SETTINGS = """
[databases]
* = host=127.0.0.1 port={server}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {folder}/users
pool_mode = {mode}
{more}
"""


def program() -> str | None:
    return shutil.which("pgbouncer") or next((p for p in ("/usr/sbin/pgbouncer",) if Path(p).exists()), None)


@contextmanager
def pooled(address: str, folder: Path, mode: str, more: str = "") -> Iterator[str]:
    """The address of a pooler in front of this one. Tests are skipped where there is no PgBouncer."""
    found = program()
    if found is None:
        said = "no pgbouncer here: install Debian's package `pgbouncer`"
        if os.environ.get(REQUIRED) == "required":
            pytest.fail(f"{said} ({REQUIRED}=required)")
        pytest.skip(said)
    url = make_url(address)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    (folder / "users").write_text(f'"{USER}" ""\n')
    settings = folder / "pgbouncer.ini"
    settings.write_text(_SETTINGS.format(server=url.port, port=port, folder=folder, mode=mode, more=more))
    who: list[str] = []
    if os.geteuid() == 0:  # PgBouncer refuses to run as root
        for path in (folder, *folder.iterdir()):
            os.chown(path, 65534, 65534)
        who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--pdeathsig", "KILL"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen([*who, found, str(settings)], stdout=log, stderr=log, cwd="/")
    pooled_address = url.set(port=port).render_as_string()
    try:
        _wait(pooled_address, process, folder / "log")
        yield pooled_address
    finally:
        process.kill()
        process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _SECONDS
    while True:
        assert process.poll() is None, log.read_text("utf-8", "replace")
        assert time.monotonic() < until, log.read_text("utf-8", "replace")
        try:
            psycopg.connect(address, connect_timeout=5).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            return
