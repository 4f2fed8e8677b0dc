"""Reads files as bytes that are known to be UTF-8 text, and never blocks on something that is not a regular file."""

from __future__ import annotations

import os
import stat
from itertools import islice
from typing import TYPE_CHECKING

from prompt_evaluator.errors import InputError, InputNotFoundError
from prompt_evaluator.hints import nearest

if TYPE_CHECKING:
    from pathlib import Path

BOM = b"\xef\xbb\xbf"
_MOST_LOOKED_AT = 10_000
"""How many files of a folder to compare with a name that was not found."""
_SAVE_AS_UTF8 = "Save the file as UTF-8."


def stem(path: Path) -> str:
    """Return the file's name without its extension; bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path.stem).decode(errors="replace")


def absolute(path: Path) -> str:
    """Return the absolute path of an existing file as storable text; bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path.resolve()).decode(errors="replace")


def check_file(path: Path) -> os.stat_result:
    """Refuse anything that is not a regular file: opening a FIFO or a device could block forever."""
    try:
        found = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            what, advice = "The path is a symbolic link to a file that does not exist", "Fix the link."
        else:
            what, advice = "file not found", _near_file(path)
        raise InputNotFoundError(what, path=path, advice=advice) from None
    except (OSError, ValueError) as error:  # too long, a loop of links, a NUL in the name
        raise unreadable(path, error) from None
    if not stat.S_ISREG(found.st_mode):
        what = f"The path is {_kind(found.st_mode)}, not a file"
        raise InputError(what, path=path, advice="Give the path of a file.")
    return found


def read_bytes(path: Path) -> bytes:
    """Read the whole file."""
    check_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def open_bytes(path: Path) -> int:
    """Return a file descriptor for reading in blocks; the caller closes it."""
    check_file(path)
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(path, error) from None


def check_text(data: bytes, path: Path) -> bytes:
    """Return the bytes without a byte order mark. Raise `InputError` for the first byte that is not UTF-8 text."""
    refuse_wide_encoding(data, path)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise bad_byte(data, error.start, path=path, line=data.count(b"\n", 0, error.start) + 1) from None
    if (nul := data.find(b"\0")) >= 0:
        raise nul_byte(path=path, line=data.count(b"\n", 0, nul) + 1)
    return data.removeprefix(BOM)


def refuse_wide_encoding(start: bytes, path: Path) -> None:
    """Raise `InputError` if a file starts like UTF-16 or UTF-32."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start[:2]:
        raise InputError("The file is encoded as UTF-16 or UTF-32", path=path, line=1, advice=_SAVE_AS_UTF8)


def bad_byte(text: bytes, offset: int, *, path: Path, line: int) -> InputError:
    """Return the error for `text[offset]`, with the byte's offset in its line."""
    column = offset - (text.rfind(b"\n", 0, offset) + 1)
    what = f"Line {line} is not UTF-8: byte 0x{text[offset]:02x} at offset {column} of the line"
    return InputError(what, path=path, line=line, advice=_SAVE_AS_UTF8)


def nul_byte(*, path: Path, line: int) -> InputError:
    what = f"Line {line} contains a NUL byte"
    return InputError(what, path=path, line=line, advice="Remove it; the file may be damaged or not a text file.")


def unreadable(path: Path, error: OSError | ValueError) -> InputError:
    why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return InputError(f"The file cannot be read: {why}", path=path, advice="Check its permissions and its path.")


def _near_file(path: Path) -> str:
    """Return advice about a missing file; suggest a similarly named file in its folder."""
    try:
        names = [found.name for found in islice(os.scandir(path.parent), _MOST_LOOKED_AT) if found.is_file()]
    except (OSError, ValueError):
        return "Check the path."
    near = nearest(path.name, names, cutoff=0.75)
    return f"Did you mean {path.with_name(near)}?" if near else "Check the path."


def _kind(mode: int) -> str:
    tests = {"a directory": stat.S_ISDIR, "a FIFO": stat.S_ISFIFO, "a socket": stat.S_ISSOCK}
    return next((name for name, test in tests.items() if test(mode)), "a device")
