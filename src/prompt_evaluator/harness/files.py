"""Writing the results: one process at a time, and each file as a whole."""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prompt_evaluator.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_LOCK = ".lock"


@contextmanager
def locked(results_folder: Path) -> Iterator[None]:
    """Wait until no other process writes here. The system releases the lock of a process that ends, however it ends."""
    with _sentences(results_folder):
        results_folder.mkdir(parents=True, exist_ok=True)
        file = (results_folder / _LOCK).open("ab")
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def replace(path: Path, parts: Sequence[bytes]) -> None:
    """Replace a file: readers, also after a crash, see the old or the new one, never a part.

    Only the holder of the lock writes, so the leftovers of a killed process are simply overwritten.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    with _sentences(path.parent):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with temporary.open("wb") as file:
                file.writelines(parts)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(_target(path))
            _sync_folder(path.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise


def _target(path: Path) -> Path:
    """Where a symbolic link leads, so that it stays a link."""
    return path.resolve() if path.is_symlink() else path


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _sentences(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or error
        what = f"{folder}: the results cannot be written: {why}."
        raise StoreError(
            f"{what} Check its permissions and the space on the disk. What was there is unchanged."
        ) from None
