"""Writes `dataset_evaluation.json` during a run: each case is added once, and the file can be written repeatedly.

Cases are spooled to a temporary file in the order they finish. The main file has them in dataset order, with a
placeholder for each case that has not finished yet.
"""

from __future__ import annotations

import errno
import os
import tempfile
from array import array
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.outcome import MAIN_FILE
from prompt_evaluator.store.documents import head, tail
from prompt_evaluator.store.files import atomic, own_ending, sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from typing import IO

    from prompt_evaluator.model import Preparation, RunRecord
    from prompt_evaluator.model.result import RunResult

_INDENT = b"\n    "
_PENDING = b'{\n      "test_case_id": %s,\n      "status": "pending"\n    }'
_NOTHING = (0, 0)
_COPIED_AT_ONCE = 1 << 20
_SPOOLED = 1 << 20
"""Bytes to buffer, because each system call releases the GIL."""
_encode = msgspec.json.Encoder().encode


class MainFile:
    """One thread adds cases; another may write the file meanwhile."""

    def __init__(self, folder: Path) -> None:
        """Open the spool in the run's existing folder."""
        self._folder, self._path = folder, folder / MAIN_FILE
        with sentences(folder):
            self._spool = tempfile.TemporaryFile(dir=folder, buffering=_SPOOLED)  # noqa: SIM115 - see `close`
        self._places = array("q")
        """Start and length of each case in the spool, two numbers by position; zeros where nothing was added."""
        self._size = 0

    def add(self, position: int, data: bytes) -> None:
        """Add a case, formatted as in its own file or as one line; replaces an earlier version of the case."""
        data = data.replace(b"\n", _INDENT)
        with sentences(self._folder):
            self._spool.write(data)
        missing = 2 * (position + 1) - len(self._places)
        self._places.extend([0] * missing)
        self._places[2 * position : 2 * position + 2] = array("q", (self._size, len(data)))
        self._size += len(data)

    def write(
        self, record: RunRecord, result: RunResult | None, prepared: Sequence[Preparation], case_ids: Iterable[str]
    ) -> None:
        """Write everything added so far, in dataset order."""
        before = msgspec.json.format(REDACTOR.json(_encode(head(record, prepared))), indent=2).removesuffix(b"\n}")
        after = msgspec.json.format(REDACTOR.json(_encode(tail(record, result))), indent=2).removeprefix(b"{\n")
        with sentences(self._folder), atomic(self._path, own_ending()) as file:
            size = self._size
            self._spool.flush()
            file.write(before + b',\n  "test_case_results": [')
            count = self._write_cases(file, case_ids, size)
            file.write((b"\n  ],\n" if count else b"],\n") + after + b"\n")

    def close(self) -> None:
        with suppress(OSError):  # closing flushes, and a full disk has already been reported
            self._spool.close()

    def _write_cases(self, file: IO[bytes], case_ids: Iterable[str], size: int) -> int:
        """Write the cases in the first `size` bytes of the spool; later ones are for the next write."""
        count, places = 0, self._places[:]  # a copy, because another thread may add to it
        for case_id in case_ids:
            start, length = places[2 * count : 2 * count + 2] or _NOTHING
            file.write(b"," + _INDENT if count else _INDENT)
            if length and start + length <= size:
                self._copy(file, start, start + length)
            else:
                file.write(_PENDING % _encode(case_id))
            count += 1
        return count

    def _copy(self, file: IO[bytes], start: int, end: int) -> None:
        while start < end:
            part = os.pread(self._spool.fileno(), min(end - start, _COPIED_AT_ONCE), start)
            if not part:
                raise OSError(errno.EIO, "data written earlier has disappeared")
            file.write(part)
            start += len(part)
