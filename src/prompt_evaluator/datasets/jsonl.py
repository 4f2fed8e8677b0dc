"""Reads JSONL in blocks: in constant memory for files of any size, and nearly as fast as decoding alone.

Each block of lines is decoded by msgspec. A block that msgspec refuses, or would silently change (it keeps the last of
two equal keys), is read again by the exact parser, which accepts it or says what is wrong.
"""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from prompt_evaluator.errors import InputError
from prompt_evaluator.syntax.document import MAX_DEPTH
from prompt_evaluator.syntax.jsontext import parse_json_line
from prompt_evaluator.syntax.source import BOM, open_bytes, refuse_wide_encoding, unreadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from prompt_evaluator.datasets.positions import Report

MAX_LINE = 16 * 1024 * 1024
"""Most bytes of one line. A longer line means a damaged file."""
_BLOCK = 256 * 1024

_decode = msgspec.json.Decoder(dict[str, Any]).decode
_encode = msgspec.json.Encoder().encode


class Batch(NamedTuple):
    """The objects of one block, and the line of each."""

    lines: Sequence[int]
    records: list[dict[str, Any]]


class BlockStart(NamedTuple):
    """Where a block of lines begins."""

    offset: int = 0
    """In bytes."""
    line: int = 1


_FIRST = BlockStart()


class JsonlFile:
    """One pass over a file, or over its end from some block on; `hash` is complete at the end of a whole pass."""

    def __init__(self, path: Path, report: Report, start: BlockStart = _FIRST) -> None:
        self.path, self.report = path, report
        self.block = start
        """Where the block that was read last begins."""
        self._sha256 = hashlib.sha256()

    @property
    def hash(self) -> str:
        return self._sha256.hexdigest()

    def batches(self) -> Iterator[Batch]:
        first_line = self.block.line
        for offset, block in self._blocks(self.block.offset):
            self.block = BlockStart(offset, first_line)
            lines = block.split(b"\n")
            if not lines[-1]:
                lines.pop()
            yield self._fast(block, lines, first_line) or self._exact(lines, first_line)
            first_line += len(lines)

    def _fast(self, block: bytes, lines: list[bytes], first_line: int) -> Batch | None:
        """Decode a block; None if anything about it is unusual."""
        if len(block) > MAX_LINE:
            return None
        try:
            records = [_decode(line) for line in lines]
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        # Decoding drops a repeated key, and its quotes with it. An escaped quote could hide that by adding one.
        if _encode(records).count(b'"') != block.count(b'"') or (b"\\" in block and b"\\u0022" in block):
            return None
        # Brackets come in pairs, so a short line cannot be too deep.
        if any(len(line) > 2 * MAX_DEPTH and line.count(b"{") + line.count(b"[") > MAX_DEPTH for line in lines):
            return None
        return Batch(range(first_line, first_line + len(lines)), records)

    def _exact(self, lines: list[bytes], first_line: int) -> Batch:
        numbers, records = [], []
        for number, line in enumerate(lines, first_line):
            if not line.strip(b" \t\r"):
                continue
            if len(line) > MAX_LINE:
                self.report(self._too_long(number))
                continue
            try:
                records.append(parse_json_line(line, path=self.path, number=number))
            except InputError as problem:
                self.report(problem)
            else:
                numbers.append(number)
        return Batch(numbers, records)

    def _blocks(self, offset: int) -> Iterator[tuple[int, bytes]]:
        """Yield whole lines in blocks of about `_BLOCK` bytes, and where each begins.

        Only the start of a line that is too long is kept.
        """
        descriptor = open_bytes(self.path)
        try:
            os.lseek(descriptor, offset, os.SEEK_SET)
            parts: list[bytes] = []  # start of a line whose end has not been read yet
            held = 0
            start, read = not offset, offset
            while chunk := os.read(descriptor, _BLOCK):
                self._sha256.update(chunk)
                read += len(chunk)
                if start:
                    refuse_wide_encoding(chunk, self.path)
                    chunk, start = chunk.removeprefix(BOM), False
                end = chunk.rfind(b"\n") + 1
                if end:
                    yield offset, b"".join((*parts, memoryview(chunk)[:end]))
                    parts, held = [chunk[end:]], len(chunk) - end
                    offset = read - held
                elif held <= MAX_LINE:
                    parts.append(chunk)
                    held += len(chunk)
            if rest := b"".join(parts):
                yield offset, rest
        except OSError as error:
            raise unreadable(self.path, error) from None
        finally:
            os.close(descriptor)

    def _too_long(self, number: int) -> InputError:
        what = f"Line {number} is longer than {MAX_LINE // 2**20} MiB"
        advice = "Put each case on a line of its own, or keep large content out of the dataset."
        return InputError(what, path=self.path, line=number, advice=advice)
