"""Files that are either the old one or the new one, and what a disk says when there is none."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from typing import TYPE_CHECKING, BinaryIO

from prompt_evaluator.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextmanager
def atomic(path: Path) -> Iterator[BinaryIO]:
    """A file that is either the old one or the new one, whatever happens in between.

    Only one process writes a file at a time, so what a killed one left behind is written over by the next.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with temporary.open("wb") as file:
            yield file
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with path.open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def sentences(folder: Path) -> Iterator[None]:
    """What the disk says, as a sentence. The store has everything; only the files are missing."""
    try:
        yield
    except OSError as error:
        what = f"The run's files cannot be written in {folder}: {error.strerror or error}."
        raise StoreError(
            f"{what} Make room or choose another folder with -o; what was paid for is in the store."
        ) from None
