"""Fingerprints of programs and functions (16 hex digits), so that answers of other versions are not reused."""

from __future__ import annotations

import os
import shutil
import stat
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_evaluator.usercode.code_in_memory import CodeInMemory, is_importable
from prompt_evaluator.usercode.project_files import Project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

_LARGEST = 16 * 1024 * 1024
"""Bytes. Larger files take too long to read before every run."""


def of_command(words: Sequence[str]) -> str | None:
    """Fingerprint the command, the program's file and the files among its arguments. None if there is no program.

    Files that these refer to, such as the modules that a script imports, are not included.
    """
    try:
        program = shutil.which(words[0])
        if program is None:
            return None
        files = [Path(program), *filter(_is_small_file, map(_path_in, words[1:]))]
        return _digest([*map(os.fsencode, words), *map(_content, files)])
    except (OSError, ValueError):  # an invalid file name, or a file that was just deleted
        return None


def of_files(module: str, function: Callable[..., Any]) -> str | None:
    """Fingerprint the files of an importable function and what they import from their project.

    None if there are no such files, as for functions of the standard library or from a notebook.
    """
    try:
        if (project := Project.of(module)) is None:
            return None
        modules = {module, getattr(function, "__module__", None) or module}
        return _digest_of_files(project.files(sorted(modules)))
    except Exception:  # noqa: BLE001 - inspecting user objects may raise anything, and must not stop the run
        return None


def of_adopted(function: Callable[..., Any]) -> str | None:
    """Same as `of_files`, for a function object. None if it cannot be imported by its name."""
    return of_files(function.__module__, function) if is_importable(function) else None


def of_memory(function: Callable[..., Any]) -> str | None:
    """Fingerprint a function that cannot be imported, such as a lambda or a notebook cell's. None if impossible."""
    try:
        code = CodeInMemory(function)
        files = _digest_of_files(code.project.files(sorted(code.modules)))
        return _digest([*code.parts, (files or "").encode()]) if code.parts or files else None
    except Exception:  # noqa: BLE001 - as above
        return None


def _digest_of_files(files: dict[str, bytes]) -> str | None:
    return _digest(part for name in sorted(files) for part in (os.fsencode(name), files[name])) if files else None


def _digest(parts: Iterable[bytes]) -> str:
    total = blake2b(digest_size=8)
    for part in parts:
        total.update(b"%d:" % len(part))  # so that ab + c differs from a + bc
        total.update(part)
    return total.hexdigest()


def _path_in(argument: str) -> Path:
    """The path in an argument, including the form `--config=agent.yaml`."""
    _, _, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    return Path(value or argument)


def _is_small_file(path: Path) -> bool:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size < _LARGEST


def _content(path: Path) -> bytes:
    """Digest of a file's content. For files that are large or not readable, the size and modification time."""
    found = path.stat()
    if found.st_size < _LARGEST:
        try:
            return blake2b(path.read_bytes()).digest()
        except PermissionError:
            pass
    return b"%d %d" % (found.st_size, found.st_mtime_ns)
