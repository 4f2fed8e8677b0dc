"""What comparisons and slices need of a run's cases, as columns of numbers instead of an object per case."""

from __future__ import annotations

import msgspec

CASES_AT_ONCE = 16_384
"""Cases in one piece. Pieces begin at multiples of it, so that those of two runs of one dataset are alike."""


class ScoreColumns(msgspec.Struct, frozen=True, array_like=True):
    """The scores on one metric, of the cases that have any. Numbers are little-endian."""

    at: bytes
    """Places of the cases in the piece, as 32-bit numbers, as all counts are."""
    mean: bytes
    """64-bit floating point, as all scores are."""
    std: bytes
    """NaN for a single sample."""
    count: bytes
    missing: bytes
    sizes: bytes
    """How many of `values` belong to each case; empty if every case has one sample, whose score is the mean."""
    values: bytes
    """The scores of all samples, case after case."""


class FlagColumns(msgspec.Struct, frozen=True, array_like=True):
    """How often a flag was raised, in the cases that were asked about it."""

    at: bytes
    raised: bytes
    asked: bytes


class CaseColumns(msgspec.Struct, frozen=True, array_like=True):
    """Consecutive cases of a run."""

    size: int
    """How many cases."""
    ids: bytes
    """UTF-8, one after the other."""
    id_sizes: bytes
    metadata: list[str]
    """The different ones as JSON, in order of appearance; empty for none."""
    kinds: bytes
    """Which of `metadata` each case has."""
    metrics: dict[str, ScoreColumns]
    flags: dict[str, FlagColumns]
