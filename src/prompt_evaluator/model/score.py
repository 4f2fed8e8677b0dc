"""What a metric says: a closed outcome, so that nobody can mistake a failure for a bad score."""

from __future__ import annotations

from typing import Any

import msgspec


class Scored(msgspec.Struct, frozen=True, tag="scored"):
    """A score from 0 to 1 with its reason."""

    value: float
    reason: str = ""
    details: dict[str, Any] = {}
    """What a reader may want to look into, such as verdicts by statement or which method was used."""


class Skipped(msgspec.Struct, frozen=True, tag="skipped"):
    """The case does not have what the metric needs. Neither good nor bad."""

    reason: str


class Failed(msgspec.Struct, frozen=True, tag="failed"):
    """The metric broke. Never read as 0: a broken judge is not a bad answer."""

    reason: str
    kind: str = "InvalidJudgement"
    """The error's class, or what was wrong with the judge's reply."""


Score = Scored | Skipped | Failed
