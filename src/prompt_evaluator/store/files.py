"""Atomic writes, file locks, and readable messages for disk errors."""

from __future__ import annotations

import fcntl
from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING, BinaryIO

from prompt_evaluator.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_LETTERS = 8


def own_ending() -> str:
    """An ending for temporary names that no other writer has; see `remove_unfinished`.

    A process that was stopped goes on with its write when it wakes up, although another one may have its run by then.
    """
    return f".{token_hex(_LETTERS // 2)}.tmp"


def remove_unfinished(folder: Path) -> None:
    """Delete what earlier writers have not finished, so that one that was only stopped cannot put it in place."""
    for left in folder.glob(f".*.{'[0-9a-f]' * _LETTERS}.tmp"):
        left.unlink(missing_ok=True)


@contextmanager
def atomic(path: Path, ending: str = ".tmp") -> Iterator[BinaryIO]:
    """Replace a file atomically: readers see the old or the new one, never a part.

    Args:
        path: The file.
        ending: Of the temporary name. By default it is the same for all writers, so that what a killed one has left is
            overwritten. There must be only one at a time, then.
    """
    temporary = path.with_name(f".{path.name}{ending}")
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


class sentences:  # noqa: N801 - used like a function; a generator takes three times as long, twice per case
    """Turn an OSError into a StoreError with advice. No data is lost: the store has it all."""

    __slots__ = ("_folder",)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, OSError):
            what = f"The run's files cannot be written in {self._folder}: {error.strerror or error}."
            raise StoreError(
                f"{what} Free some space or choose another folder with -o; all paid results are in the store."
            ) from None
