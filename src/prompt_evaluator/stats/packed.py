"""Columns of numbers that were packed as little-endian bytes; one without bytes has the same number everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
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


def scores(packed: bytes, size: int) -> Floats:
    """NaN without bytes."""
    return np.frombuffer(packed, _SCORE) if packed else np.full(size, np.nan)
