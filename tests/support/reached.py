"""Which files this process opens and which folders it lists, whoever does it and however."""

from __future__ import annotations

import os
import sys
import sysconfig
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import prompt_evaluator

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVENTS = ("open", "os.listdir", "os.scandir")
_watching: list[list[str]] = []
_OWN = tuple(
    os.path.realpath(path)
    for path in (str(Path(prompt_evaluator.__file__).parent), *{*sysconfig.get_paths().values()}, sys.base_prefix)
)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event in _EVENTS and isinstance(arguments[0], (str, bytes, Path)):
        for found in _watching:
            found.append(os.fsdecode(arguments[0]))


sys.addaudithook(_note)  # for good: the interpreter removes none


@contextmanager
def reached() -> Iterator[list[str]]:
    """All paths that are opened or listed while the block lasts."""
    found: list[str] = []
    _watching.append(found)
    try:
        yield found
    finally:
        _watching.remove(found)


def outside(paths: list[str], *folders: Path) -> set[str]:
    """Those that are neither in these folders nor part of Python, its packages or the product."""
    known = (*_OWN, *map(os.path.realpath, folders))
    real = {path: os.path.realpath(path) for path in {*paths}}
    return {
        path for path, full in real.items() if not any(full == each or full.startswith(f"{each}/") for each in known)
    }
