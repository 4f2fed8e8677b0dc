"""A server in a process of its own, as a user starts it."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from prompt_evaluator.client import Client

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from workspace import Workspace

    from prompt_evaluator.client import ApiRun, Event

_PATIENCE = 60.0
_LONGEST = 120.0
T = TypeVar("T")


class LimitedClient(Client):
    """A client that waits for no run for ever: a test that waits for so long has failed."""

    def wait(self, run_id: str, *, timeout: float | None = _LONGEST, every: float = 0.05) -> ApiRun:
        return super().wait(run_id, timeout=timeout, every=every)

    def events(self, run_id: str, *, after: str | None = None, timeout: float | None = _LONGEST) -> Iterator[Event]:
        return super().events(run_id, after=after, timeout=timeout)


class Served:
    """A running server."""

    def __init__(self, folder: Path, *options: str, environment: Mapping[str, str]) -> None:
        self.folder = folder
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-m", "prompt_evaluator", "serve", *options],
            cwd=folder,
            env=dict(environment),
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        try:
            self.address = self._found_address()
        except BaseException:
            self.close()
            raise
        self.client = LimitedClient(self.address)

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)

    def _found_address(self) -> str:
        def found() -> str | None:
            match = next((m for line in self.lines if (m := re.search(r" at (http://\S+)\. Ctrl-C", line))), None)
            return match[1] if match else None

        return eventually(lambda: found() if self._alive() else None, what=lambda: "".join(self.lines))

    def _alive(self) -> bool:
        assert self.process.poll() is None, "".join(self.lines)
        return True

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def kill(self) -> None:
        """Kill the server as `kill -9` does. Its worker notices and ends by itself."""
        self.process.kill()
        self.process.wait(_PATIENCE)

    def stop(self) -> int:
        """End the server as a service manager does, and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(_PATIENCE)

    def close(self) -> None:
        """End it, if it has not ended, and read what it still says."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(_PATIENCE)
        self._reading.join(_PATIENCE)
        assert self.process.stderr is not None
        self.process.stderr.close()


@contextmanager
def served(workspace: Workspace, *options: str, port: int = 0, **environment: str) -> Iterator[Served]:
    """A server in a folder, which is ended afterwards."""
    server = Served(
        workspace.folder, "--port", str(port), *options, environment={**workspace.environment, **environment}
    )
    try:
        yield server
    finally:
        server.close()


def eventually(found: Callable[[], T | None], *, what: Callable[[], str] = str, patience: float = _PATIENCE) -> T:
    """Wait until there is something, and return it."""
    until = time.monotonic() + patience
    while True:
        value = found()
        if value:
            return value
        assert time.monotonic() < until, f"It did not happen: {what()}"
        time.sleep(0.05)
