"""What a release is measured against, and what the gate said about it."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

VerdictKind = Literal["pass", "fail", "inconclusive"]


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is pinned as the one to compare with."""

    name: str
    """What it is the baseline of: a dataset's name, or whatever name people agree on."""
    run_id: str
    pinned_at: str
    """ISO 8601, UTC."""
    note: str | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The gate's answer about a run."""

    run_id: str
    baseline_run_id: str | None = None
    """None where the run was held to fixed limits alone."""
    verdict: VerdictKind
    created_at: str
    """ISO 8601, UTC."""
    policy: dict[str, Any] = {}
    """What was asked of the run."""
    reasons: tuple[str, ...] = ()
    """A sentence each."""
    id: int | None = None
    """Given by the store."""
