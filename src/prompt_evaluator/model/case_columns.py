"""What comparisons, slices and charts need of a run's cases, as columns of numbers instead of an object per case.

Columns are packed as `stats.packed` reads them: counts as 32-bit integers, scores as 64-bit floating point numbers.
What all cases have in common, which is usual, takes no bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence

CASES_AT_ONCE = 8_192
"""Cases in one piece. Pieces begin at multiples of it, so that those of two runs of one dataset are alike."""

HAS_RESULT, FAILING, FLAGGED, HAS_ERRORS, FLAKY, DONE = 1, 2, 4, 8, 16, 32
"""What states of cases are made of. A case without a result has not been started; one that is not done is pending."""
_WITH = {bit: bytes(state for state in range(256) if state & bit) for bit in (1, 2, 4, 8, 16, 32)}


class ScoreColumns(msgspec.Struct, frozen=True, array_like=True):
    """The scores on one metric, of the cases that have any."""

    at: bytes
    """Places of the cases in the piece; empty for all."""
    mean: bytes
    std: bytes
    """NaN for a single sample; empty if all are."""
    count: bytes
    """Empty if every case has one sample."""
    missing: bytes
    """Empty if no score is missing."""
    sizes: bytes
    """How many of `values` belong to each case; empty if every case has one sample, whose score is the mean."""
    values: bytes
    """The scores of all samples, case after case."""


class FlagColumns(msgspec.Struct, frozen=True, array_like=True):
    """How often a flag was raised, in the cases that were asked about it."""

    at: bytes
    raised: bytes
    asked: bytes


class IdColumn(msgspec.Struct, frozen=True, array_like=True):
    """The ids of consecutive cases."""

    encoded: bytes
    """UTF-8, one after the other."""
    sizes: bytes
    """How many bytes each has."""


class CaseKinds(NamedTuple):
    """The metadata of consecutive cases."""

    size: int
    """How many cases."""
    metadata: Sequence[str]
    """As in `CaseColumns`."""
    kinds: bytes


class CaseStates(NamedTuple):
    """Some cases of a run in dataset order, without an object for each."""

    positions: Sequence[int]
    states: bytes
    """A byte for each of them."""

    def count(self, bit: int) -> int:
        """How many have this in their state."""
        return len(self.states) - len(self.states.translate(None, _WITH[bit]))


class CaseColumns(msgspec.Struct, frozen=True, array_like=True):
    """Consecutive cases of a run."""

    size: int
    """How many cases."""
    states: bytes
    """A byte for each case."""
    metadata: list[str]
    """The different ones as JSON, in order of appearance; empty for none."""
    kinds: bytes
    """Which of `metadata` each case has; empty if all have the first."""
    metrics: dict[str, ScoreColumns]
    flags: dict[str, FlagColumns]
