"""Requests for runs, waiting for a server."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

QueueState = Literal["waiting", "started", "done", "failed"]


class QueuedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """One request, from submission until its run has ended."""

    id: int
    state: QueueState
    requested_at: str
    """ISO 8601, UTC."""
    started_at: str | None = None
    ended_at: str | None = None
    request: dict[str, Any]
    """As submitted."""
    run_id: str | None = None
    """None until there is a run."""
    error: str | None = None
    """Why there is no run, or why it ended early."""
    worker: str | None = None
    """Name of the worker that took it."""
