"""Columns of numbers that were packed as little-endian bytes; one without bytes has the same number everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]
    Ints = npt.NDArray[np.int64]
    Counts = npt.NDArray[np.uint32]
    Bools = npt.NDArray[np.bool_]

_COUNT, _SCORE = np.dtype("<u4"), np.dtype("<f8")


def places(packed: bytes, size: int) -> Counts:
    """Numbers of some cases out of `size`; of all without bytes."""
    return np.frombuffer(packed, _COUNT) if packed else np.arange(size, dtype=_COUNT)


def counts(packed: bytes, size: int, usual: int = 0) -> Counts:
    return np.frombuffer(packed, _COUNT) if packed else np.full(size, usual, dtype=_COUNT)


def as_places(positions: Sequence[int]) -> Ints:
    if isinstance(positions, range):
        return np.arange(positions.start, positions.stop, positions.step)
    return np.asarray(positions, dtype=np.int64)


def tally(column: bytes | bytearray, positions: Sequence[int]) -> list[int]:
    """How many of these places have each of the 256 bytes."""
    found: list[int] = np.bincount(np.frombuffer(column, np.uint8)[as_places(positions)], minlength=256).tolist()
    return found


def scores(packed: bytes, size: int) -> Floats:
    """NaN without bytes."""
    return np.frombuffer(packed, _SCORE) if packed else np.full(size, np.nan)
