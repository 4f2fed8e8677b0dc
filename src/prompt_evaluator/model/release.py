"""Baselines that releases are measured against, and the gate's verdicts."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

VerdictKind = Literal["pass", "fail", "inconclusive"]


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """A run pinned as the one to compare with."""

    name: str
    """A dataset's name, or any name the team agrees on."""
    run_id: str
    pinned_at: str
    """ISO 8601, UTC."""
    note: str | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """The gate's verdict on a run."""

    run_id: str
    baseline_run_id: str | None = None
    """None if the run was checked against fixed limits only."""
    verdict: VerdictKind
    created_at: str
    """ISO 8601, UTC."""
    policy: dict[str, Any] = {}
    """The conditions the run had to meet."""
    reasons: tuple[str, ...] = ()
    """One sentence each."""
    id: int | None = None
    """Assigned by the store."""
