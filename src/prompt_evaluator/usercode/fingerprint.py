"""What a program or a function is made of, in 16 digits: answers of one version must not pass for another's."""

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
"""Bytes; a larger file takes too long to read before each run."""


def of_command(words: Sequence[str]) -> str | None:
    """Of the program's file, the files among its arguments, and the command itself; None where there is no program.

    What these files refer to in turn, such as the modules that a script imports, is not looked at.
    """
    try:
        program = shutil.which(words[0])
        if program is None:
            return None
        files = [Path(program), *filter(_is_small_file, map(_path_in, words[1:]))]
        return _digest([*map(os.fsencode, words), *map(_content, files)])
    except (OSError, ValueError):  # a name that no file can have, or a file that was just taken away
        return None


def of_files(module: str, function: Callable[..., Any]) -> str | None:
    """Of the files of a function that can be imported, and of what they import from their project.

    None where there are none, as for a function of the standard library or one that was typed into a notebook.
    """
    try:
        if (project := Project.of(module)) is None:
            return None
        modules = {module, getattr(function, "__module__", None) or module}
        return _digest_of_files(project.files(sorted(modules)))
    except Exception:  # noqa: BLE001 - whatever foreign objects do when looked at, there is a run to be made
        return None


def of_adopted(function: Callable[..., Any]) -> str | None:
    """The same for a function that is at hand, if its name leads to it."""
    return of_files(function.__module__, function) if is_importable(function) else None


def of_memory(function: Callable[..., Any]) -> str | None:
    """Of a function that no name leads to, such as a lambda or one in a notebook; None if nothing is known of it."""
    try:
        code = CodeInMemory(function)
        files = _digest_of_files(code.project.files(sorted(code.modules)))
        return _digest([*code.parts, (files or "").encode()]) if code.parts or files else None
    except Exception:  # noqa: BLE001 - the same
        return None


def _digest_of_files(files: dict[str, bytes]) -> str | None:
    return _digest(part for name in sorted(files) for part in (os.fsencode(name), files[name])) if files else None


def _digest(parts: Iterable[bytes]) -> str:
    total = blake2b(digest_size=8)
    for part in parts:
        total.update(b"%d:" % len(part))  # or else ab + c would look like a + bc
        total.update(part)
    return total.hexdigest()


def _path_in(argument: str) -> Path:
    """The argument as a file, also as in `--config=agent.yaml`."""
    _, _, value = argument.partition("=") if argument.startswith("-") else ("", "", argument)
    return Path(value or argument)


def _is_small_file(path: Path) -> bool:
    try:
        found = path.stat()
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size < _LARGEST


def _content(path: Path) -> bytes:
    """What is in a file; of one that is large, or may be executed but not read, its size and the time of its change."""
    found = path.stat()
    if found.st_size < _LARGEST:
        try:
            return blake2b(path.read_bytes()).digest()
        except PermissionError:
            pass
    return b"%d %d" % (found.st_size, found.st_mtime_ns)
