"""The sample of a failing case that says most about it."""

from __future__ import annotations

from typing import NamedTuple


class WorstSample(NamedTuple):
    """The sample of a case that misses most pass marks."""

    sample: int
    """Starts at 0."""
    answer: str | None
    """Its beginning."""
    values: dict[str, float]
    """Scores that do not pass, by metric."""
    reasons: dict[str, str]
    """Of those scores; their beginning."""
