"""The service of `chat_service_program.py` as tests see it."""

from __future__ import annotations

import atexit
import json
import select
import subprocess
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.request import Request, urlopen

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS = 60.0


class ChatService:
    """The service as a test sees it."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.environment = {"OPENAI_BASE_URL": f"{self.url}/v1", "OPENAI_API_KEY": "test-key-1234567890"}

    def set(self, **settings: Any) -> None:
        """Behave differently from now on: latency (seconds), padding (characters), rules, keep, drop, hold, prefer.

        With `prefer="longer"`, it prefers the longer of two answers; with `times`, it notes when each call arrives.
        """
        with urlopen(Request(f"{self.url}/set", json.dumps(settings).encode()), timeout=_SECONDS) as reply:
            reply.read()

    def state(self) -> dict[str, Any]:
        with urlopen(f"{self.url}/state", timeout=_SECONDS) as reply:
            state: dict[str, Any] = json.load(reply)
        return state

    @property
    def paid(self) -> int:
        paid: int = self.state()["paid"]
        return paid

    def times(self, model: str | None = None) -> list[float]:
        """When each call arrived since `times` was set, in seconds; of all models, or of one."""
        return [at for at, asked in self.state()["times"] if model in (None, asked)]

    @property
    def kept(self) -> list[dict[str, Any]]:
        """Every request since `keep` was set."""
        kept: list[dict[str, Any]] = self.state()["kept"]
        return kept


@contextmanager
def running_service(port: int = 0) -> Iterator[ChatService]:
    """Start it at a port, or at one that is free."""
    opened = _process().tell(f"open {port}")
    try:
        yield ChatService(opened)
    finally:
        _process().tell(f"close {opened}")


class _Process:
    """One for all services of a session of tests: starting Python for each takes longer than most of them are used."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("chat_service_program.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self._close)

    def tell(self, order: str) -> int:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        assert select.select([self._process.stdout], [], [], _SECONDS)[0], f"the service does not {order}"
        return int(self._process.stdout.readline())

    def _close(self) -> None:
        try:
            self._process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate(timeout=_SECONDS)


_process = cache(_Process)
