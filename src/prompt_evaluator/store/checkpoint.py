"""Copies what a run has written from the write-ahead log of a file into the file, next to other work."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.store.database import FAILURES

if TYPE_CHECKING:
    from sqlalchemy import Engine

_MUCH = 1 << 20
"""A shorter log is left to the close, because every copy waits for the disk twice. In bytes."""


class Checkpoint:
    """Copies the log once a run has written everything. Otherwise closing the store does, while a user waits."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def begin(self) -> None:
        """Begin to copy the log if it is long; other connections can read and write meanwhile."""
        with self._lock:  # several runs may end at once
            if self._log_size() >= _MUCH and not (self._thread and self._thread.is_alive()):
                self._thread = threading.Thread(target=self._copy, name="checkpoint")
                self._thread.start()

    def wait(self) -> None:
        if self._thread is not None:
            self._thread.join()

    def _log_size(self) -> int:
        """0 for a server."""
        url = self._engine.url
        if url.get_backend_name() != "sqlite" or url.database is None:
            return 0
        with suppress(OSError):
            return Path(f"{url.database}-wal").stat().st_size
        return 0

    def _copy(self) -> None:
        with suppress(*FAILURES):  # if the disk is full, say: nothing is lost, and closing tries again
            connection = self._engine.raw_connection()
            try:
                connection.cursor().execute("PRAGMA wal_checkpoint(PASSIVE)")
            finally:
                connection.close()
