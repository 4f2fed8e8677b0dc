"""From a path to bytes that are known to be text, without ever waiting on something that is not a file."""

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
"""Files of a folder, where one is not found: there may be any number."""
_SAVE_AS_UTF8 = "Save the file as UTF-8."


def stem(path: Path) -> str:
    """The file's name without its extension, with a mark for every byte of it that is not UTF-8."""
    return os.fsencode(path.stem).decode(errors="replace")


def absolute(path: Path) -> str:
    """The whole path of a file that exists, as a text that can be stored, with a mark for every byte that cannot."""
    return os.fsencode(path.resolve()).decode(errors="replace")


def check_file(path: Path) -> os.stat_result:
    """Refuse what is not a readable regular file; opening a FIFO or a device could wait for ever."""
    try:
        found = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            what, advice = "The path is a symbolic link to a file that does not exist", "Mend the link."
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
    """The whole file."""
    check_file(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def open_bytes(path: Path) -> int:
    """A file descriptor for reading in blocks; the caller closes it."""
    check_file(path)
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise unreadable(path, error) from None


def check_text(data: bytes, path: Path) -> bytes:
    """The same bytes without a byte order mark, or an error naming the first byte that cannot be text."""
    refuse_wide_encoding(data, path)
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise bad_byte(data, error.start, path=path, line=data.count(b"\n", 0, error.start) + 1) from None
    if (nul := data.find(b"\0")) >= 0:
        raise nul_byte(path=path, line=data.count(b"\n", 0, nul) + 1)
    return data.removeprefix(BOM)


def refuse_wide_encoding(start: bytes, path: Path) -> None:
    """Name UTF-16 and UTF-32 for what they are, from the first bytes of a file."""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start[:2]:
        raise InputError("The file is encoded as UTF-16 or UTF-32", path=path, line=1, advice=_SAVE_AS_UTF8)


def bad_byte(text: bytes, offset: int, *, path: Path, line: int) -> InputError:
    """The error for `text[offset]`, with the byte's place in its line."""
    column = offset - (text.rfind(b"\n", 0, offset) + 1)
    what = f"Line {line} is not UTF-8: byte 0x{text[offset]:02x} at offset {column} of the line"
    return InputError(what, path=path, line=line, advice=_SAVE_AS_UTF8)


def nul_byte(*, path: Path, line: int) -> InputError:
    what = f"Line {line} contains a NUL byte"
    return InputError(what, path=path, line=line, advice="Remove it; the file may be damaged or not be text.")


def unreadable(path: Path, error: OSError | ValueError) -> InputError:
    why = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
    return InputError(f"The file cannot be read: {why}", path=path, advice="Check its permissions and its path.")


def _near_file(path: Path) -> str:
    """What to do about a file that is not there: a file beside it may have been meant."""
    try:
        names = [found.name for found in islice(os.scandir(path.parent), _MOST_LOOKED_AT) if found.is_file()]
    except (OSError, ValueError):
        return "Check the path."
    near = nearest(path.name, names, cutoff=0.75)
    return f"Did you mean {path.with_name(near)}?" if near else "Check the path."


def _kind(mode: int) -> str:
    tests = {"a directory": stat.S_ISDIR, "a FIFO": stat.S_ISFIFO, "a socket": stat.S_ISSOCK}
    return next((name for name, test in tests.items() if test(mode)), "a device")
