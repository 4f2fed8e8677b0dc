"""What a metric says: a closed outcome, so that nobody can mistake a failure for a bad score."""

from __future__ import annotations

from typing import Any

import msgspec

UNREADABLE = "InvalidJudgement"
"""The kind of failure of a judge whose reply cannot be read."""


class Scored(msgspec.Struct, frozen=True, tag="scored"):
    """A score with its reason: from 0 to 1, or on the scale of a rubric's criterion."""

    value: float
    reason: str = ""
    details: dict[str, Any] = {}
    """What a reader may want to look into, such as a judge's opinion of each statement or which method was used."""


class Skipped(msgspec.Struct, frozen=True, tag="skipped"):
    """The case does not have what the metric needs. Neither good nor bad."""

    reason: str


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The metric broke. Never read as 0: a broken judge is not a bad answer."""

    reason: str
    kind: str = "MetricFailed"
    """The error's class, or `UNREADABLE` where a judge's reply cannot be read."""


Score = Scored | Skipped | Failed


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """Several scores that a judge gives in one call, with flags: what a rubric comes to."""

    scores: dict[str, Scored]
    flags: dict[str, bool] = {}
    comment: str = ""


class ScoreScale(msgspec.Struct, frozen=True):
    """What a score can be, and from where on an answer passes."""

    low: float = 0.0
    high: float = 1.0
    pass_at: float = 1.0
