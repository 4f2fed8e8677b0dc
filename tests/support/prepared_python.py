"""A Python that has imported all that the command may need and run it once, and forks for each command.

A command then takes a tenth of a second instead of a whole one.

usage: prepared_python.py CHANNEL
CHANNEL is the number of a socket. A request on it is the length of a JSON object, four bytes, and the object; with it
come three files: standard output, standard error, and one for the process id, a line, and at the end its exit code.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryDirectory
from typing import Any

from click.testing import CliRunner

import prompt_evaluator
from prompt_evaluator.cli.main import cli

LIBRARIES = ("asyncio", "jsonschema_rs", "rapidfuzz", "regex", "sqlalchemy.dialects.sqlite", "sqlite3", "ssl")
"""What modules of the package import when they need it. None of them starts a thread."""


def import_everything() -> None:
    """Import the package, except for what runs when it is imported, and the libraries."""
    for module in walk_packages(prompt_evaluator.__path__, "prompt_evaluator."):
        if not module.name.endswith(".__main__"):
            import_module(module.name)
    for name in LIBRARIES:
        import_module(name)


def run_once() -> None:
    """Evaluate something, so that what libraries work out at their first use is known to every command."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "prompt.txt").write_text("Answer.", encoding="utf-8")
        (folder / "data.jsonl").write_text('{"id": "a", "input": "Why?"}\n', encoding="utf-8")
        here = Path.cwd()
        os.chdir(folder)
        for arguments in (["evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "-n", "1"], ["runs", "list"]):
            done = CliRunner().invoke(cli, arguments)
            assert done.exit_code == 0, done.output
        os.chdir(here)
    assert threading.active_count() == 1, "a process that forks has one thread"


def wait_to_be_a_command(channel: socket.socket) -> list[str] | None:
    """Fork for each request; answers in the child with its arguments, and in the parent at the end with None."""
    running: dict[int, int] = {}
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        ready, _, _ = select.select([channel.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _tell_what_ended(running)
        if channel.fileno() in ready:
            head, files, _, _ = socket.recv_fds(channel, 4, 3)
            if not head:
                return None
            request = _read(channel, int.from_bytes(head))
            pid = os.fork()
            if not pid:
                signal.set_wakeup_fd(-1)
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                for other in (ended, wake, files[2], *running.values()):
                    os.close(other)
                return _become(request, *files[:2])
            running[pid] = files.pop()
            os.write(running[pid], b"%d\n" % pid)
            for file in files:
                os.close(file)


def _read(channel: socket.socket, size: int) -> Any:
    data = b""
    while len(data) < size:
        piece = channel.recv(size - len(data))
        if not piece:
            sys.exit("the tests ended in the middle of a request")
        data += piece
    return json.loads(data)


def _tell_what_ended(running: dict[int, int]) -> None:
    for pid in list(running):
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            file = running.pop(pid)
            os.write(file, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(file)


def _become(request: Any, *outputs: int) -> list[str]:
    for file, usual in zip(outputs, (1, 2), strict=True):
        os.dup2(file, usual)
        os.close(file)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.path[0] = request["folder"]  # as `python -m` does
    arguments: list[str] = request["arguments"]
    return arguments


def run_command(arguments: list[str]) -> None:
    """Run it as `python -m` does, to its exit code; any other exception ends Python as usual."""
    sys.argv[1:] = arguments
    try:
        runpy.run_module("prompt_evaluator", run_name="__main__", alter_sys=True)
    except SystemExit as error:
        if not isinstance(error.code, int | None):
            raise
        code = error.code or 0
    else:
        code = 0
    # Threads, exit functions and what nobody closed, as Python ends; but all that was imported is not taken apart.
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - the only name it has
    atexit._run_exitfuncs()  # noqa: SLF001 - the same
    gc.collect()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    import_everything()
    run_once()
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as requests:
        given = wait_to_be_a_command(requests)
    if given is not None:
        run_command(given)
