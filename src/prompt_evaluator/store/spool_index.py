"""Where each case is in a spool file, kept on disk: a run may have a great many cases."""

from __future__ import annotations

import os
import tempfile
import threading
from itertools import repeat
from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ENTRY = Struct("<qq")
_NOTHING = (0, 0)
_AT_ONCE = 4_096
"""Entries held in memory before they are written, and read at a time: each system call releases the GIL."""


class SpoolIndex:
    """Start and length by position. One thread puts entries; another may read all of them meanwhile."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - see `close`
        self._recent: dict[int, tuple[int, int]] = {}
        """Entries that are not in the file yet."""
        self._lock = threading.Lock()
        """Held while the file is written or read, so that no half of an entry is read."""

    def put(self, position: int, start: int, length: int) -> None:
        """Add or replace an entry, whose length must not be 0."""
        self._recent[position] = (start, length)
        if len(self._recent) >= _AT_ONCE:
            with self._lock:
                for first, data in _runs(self._recent):
                    _write(self._file.fileno(), data, first * _ENTRY.size)
                self._recent = {}  # only now, so that the other thread finds an entry here or in the file

    def all(self) -> Iterator[tuple[int, int]]:
        """Start and length at every position from 0 on, without end; the length is 0 where nothing was put."""
        recent, first = self._recent.copy(), 0
        while data := self._read(first):
            for at, entry in enumerate(_ENTRY.iter_unpack(data), first):
                yield recent.get(at, entry)
            first += len(data) // _ENTRY.size
        for at in range(first, max(recent, default=-1) + 1):
            yield recent.get(at, _NOTHING)
        yield from repeat(_NOTHING)

    def _read(self, first: int) -> bytes:
        with self._lock:
            return os.pread(self._file.fileno(), _AT_ONCE * _ENTRY.size, first * _ENTRY.size)

    def close(self) -> None:
        self._file.close()


def _runs(entries: dict[int, tuple[int, int]]) -> Iterator[tuple[int, bytes]]:
    """Entries in as few pieces as their positions allow, each with its first position."""
    first, parts = 0, list[bytes]()
    for position in sorted(entries):
        if parts and position != first + len(parts):
            yield first, b"".join(parts)
            parts = []
        if not parts:
            first = position
        parts.append(_ENTRY.pack(*entries[position]))
    if parts:
        yield first, b"".join(parts)


def _write(descriptor: int, data: bytes, offset: int) -> None:
    while data:
        written = os.pwrite(descriptor, data, offset)
        data, offset = data[written:], offset + written
