"""Carries out a request that is sent twice with the same key once, and answers both alike."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from prompt_evaluator.app.clock import as_text

if TYPE_CHECKING:
    from prompt_evaluator.model.request_key import Claim, Claimed
    from prompt_evaluator.store import Store

_KEPT = timedelta(hours=24)
_ABANDONED_AFTER = timedelta(seconds=60)
"""A claim without an answer after this time is that of a process that was killed."""


def claim(store: Store, key: str, request_hash: str, *, now: str) -> Claim:
    """Claim a key for a request. The one that gets `Claimed` carries it out, then calls `answer` or `release`.

    Keys are forgotten after a day.

    Args:
        store: Shared by all servers.
        key: As the caller gave it, with whatever tells callers apart.
        request_hash: Equal for equal requests.
        now: The current time.
    """
    at = datetime.fromisoformat(now)
    return store.claim_key(
        key, request_hash, now, abandoned_before=as_text(at - _ABANDONED_AFTER), kept_since=as_text(at - _KEPT)
    )


def answer(store: Store, claimed: Claimed, text: str) -> None:
    """Keep the answer (JSON) for when the request is sent again."""
    store.answer_key(claimed, text)


def release(store: Store, claimed: Claimed) -> None:
    """Let the request be sent again, because it failed."""
    store.release_key(claimed)
