"""The outcome of a metric: a closed union, so that a failure cannot be mistaken for a bad score."""

from __future__ import annotations

from typing import Any

import msgspec

UNREADABLE = "InvalidJudgement"
"""The failure kind for a judge's reply that cannot be parsed."""


class Scored(msgspec.Struct, frozen=True, tag="scored", gc=False):
    """A score with its reason: from 0 to 1, or on the scale of a rubric's criterion."""

    value: float
    reason: str = ""
    details: dict[str, Any] = {}
    """Further information, such as the judge's opinion of each statement or the method used."""


class Skipped(msgspec.Struct, frozen=True, tag="skipped", gc=False):
    """The case lacks what the metric needs. Neither good nor bad."""

    reason: str


class Failed(msgspec.Struct, frozen=True, tag="failed", gc=False):
    """The metric failed. Never treat this as 0: a broken judge is not a bad answer."""

    reason: str
    kind: str = "MetricFailed"
    """The error class, or `UNREADABLE` if a judge's reply cannot be parsed."""


Score = Scored | Skipped | Failed


class Scores(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The result of a rubric: several scores, with flags, given by a judge in one call."""

    scores: dict[str, Scored]
    flags: dict[str, bool] = {}
    comment: str = ""


class ScoreScale(msgspec.Struct, frozen=True):
    """The range of a score, and its pass mark."""

    low: float = 0.0
    high: float = 1.0
    pass_at: float = 1.0
