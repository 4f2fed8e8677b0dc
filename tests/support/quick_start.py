"""Runs the command as a process of its own without importing its libraries again each time."""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from functools import cache
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_READ_BY_THE_COMMAND = ("ANTHROPIC_", "COLUMNS", "EVAL_ROUTER_", "OPENAI_", "PROMPT_EVALUATOR_")
"""How the names of variables begin that neither Python nor a library reads when it starts or is imported."""

_SECONDS = 30


def base_environment() -> dict[str, str]:
    """What every command gets of the tester's own environment."""
    home = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "PYTHONPATH") if name in os.environ}
    installed = os.pathsep.join([str(Path(sys.executable).parent), home.get("PATH", os.defpath)])
    return {**home, "PATH": installed, "PYTHONWARNINGS": "error", "XDG_DATA_HOME": "/nowhere"}


def can_run(environment: Mapping[str, str]) -> bool:
    """Whether a new Python with these variables would be the same as one that was started without them."""
    return base_environment() == {
        name: value for name, value in environment.items() if not name.startswith(_READ_BY_THE_COMMAND)
    }


def run(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], timeout: float) -> tuple[int, str, str]:
    """Answer with the exit code and what was printed on the two outputs."""
    with TemporaryFile("w+", encoding="utf-8") as out, TemporaryFile("w+", encoding="utf-8") as err:
        request = {"arguments": arguments, "folder": str(folder.resolve()), "environment": dict(environment)}
        ending, told = os.pipe()
        with open(ending, encoding="ascii") as answer:  # noqa: PTH123 - a number
            next(_pythons()).send(request, (out.fileno(), err.fileno(), told))
            if not select.select([answer], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(list(arguments), timeout, "the prepared Python does not answer")
            pid = int(answer.readline())
            if not select.select([answer], [], [], timeout)[0]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(list(arguments), timeout)
            code = int(answer.read())
        for file in (out, err):
            file.seek(0)
        return code, out.read(), err.read()


class _Python:
    """A process that is ready to become the command."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair()
        command = [sys.executable, str(Path(__file__).with_name("prepared_python.py")), str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command, env=base_environment(), pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL
            )
        self._lock = threading.Lock()
        atexit.register(self._close)

    def send(self, request: object, files: tuple[int, int, int]) -> None:
        data = json.dumps(request).encode()
        with self._lock:
            socket.send_fds(self._channel, [len(data).to_bytes(4)], files)
            self._channel.sendall(data)
        os.close(files[2])

    def _close(self) -> None:
        self._channel.close()
        try:
            self._process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_SECONDS)


@cache
def _pythons() -> Iterator[_Python]:
    """Two in turn, each with a hash seed of its own: a command and the next one never share an order of sets."""
    return cycle((_Python(), _Python()))
