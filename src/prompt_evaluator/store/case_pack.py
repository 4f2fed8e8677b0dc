"""One file with a line per finished case, for large runs: a folder of many thousand files helps nobody."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_evaluator.model.outcome import PACK_FILE
from prompt_evaluator.store.files import own_ending, sentences

if TYPE_CHECKING:
    from pathlib import Path

_BUFFER = 1 << 18
"""Bytes to buffer, because each system call releases the GIL."""


class CasePack:
    """One thread adds cases in the order they finish; another may call `show` meanwhile."""

    def __init__(self, folder: Path) -> None:
        """Open a temporary file in the run's existing folder. The pack of an earlier start stays until `show`."""
        self._folder, self._path = folder, folder / PACK_FILE
        self._temporary = folder / f".{PACK_FILE}{own_ending()}"
        self._is_shown = False
        with sentences(folder):
            self._file = self._temporary.open("wb", buffering=_BUFFER)

    def add(self, data: bytes) -> None:
        """Add a case, encoded as one line of JSON."""
        with sentences(self._folder):
            self._file.write(data + b"\n")

    def show(self) -> None:
        """Flush all added cases and give the file its final name."""
        with sentences(self._folder):
            self._file.flush()
            if not self._is_shown:
                self._temporary.replace(self._path)
                self._is_shown = True

    def close(self) -> None:
        with suppress(OSError):  # closing flushes, and a full disk has already been reported
            self._file.close()
        if not self._is_shown:
            self._temporary.unlink(missing_ok=True)
