"""The finished cases of a large run in one file, a line each: a folder of many thousand files helps nobody."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_evaluator.model.outcome import PACK_FILE
from prompt_evaluator.store.files import sentences

if TYPE_CHECKING:
    from pathlib import Path

_BUFFER = 1 << 18
"""Bytes that wait for a system call: each of them hands the interpreter's lock over to others."""


class CasePack:
    """Cases are added from one thread, in the order in which they finish; another may show the file meanwhile."""

    def __init__(self, folder: Path) -> None:
        """Take the run's folder, which is there. What an earlier attempt has left stays until `show`."""
        self._folder, self._path, self._temporary = folder, folder / PACK_FILE, folder / f".{PACK_FILE}.tmp"
        self._is_shown = False
        with sentences(folder):
            self._file = self._temporary.open("wb", buffering=_BUFFER)

    def add(self, data: bytes) -> None:
        """Take a case as JSON on one line."""
        with sentences(self._folder):
            self._file.write(data + b"\n")

    def show(self) -> None:
        """See that all that has come is in the file, from now on under its own name."""
        with sentences(self._folder):
            self._file.flush()
            if not self._is_shown:
                self._temporary.replace(self._path)
                self._is_shown = True

    def close(self) -> None:
        with suppress(OSError):  # closing writes what is left, and a full disk has been reported already
            self._file.close()
        if not self._is_shown:
            self._temporary.unlink(missing_ok=True)
