"""How often a file is opened, whoever does it and however."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_watched: dict[Path, list[str]] = {}


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "open" and _watched and isinstance(arguments[0], (str, bytes, Path)):
        times = _watched.get(Path(os.fsdecode(arguments[0])))
        if times is not None:
            times.append(event)


sys.addaudithook(_note)  # for good: the interpreter removes none


@contextmanager
def opened(path: Path) -> Iterator[list[str]]:
    """One entry for each time that the file is opened, by this path, while the block lasts."""
    times = _watched[path] = []
    try:
        yield times
    finally:
        del _watched[path]
