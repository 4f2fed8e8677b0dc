"""Looks at a run in progress, in whichever process: its progress, and the cases that finished since the last look."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.api import ApiStatus
from prompt_evaluator.model.run import RunProgress

if TYPE_CHECKING:
    from collections.abc import Collection

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.query import CaseNews, NewsPlace

_OVERLAP = timedelta(seconds=5)
"""Cases are stored a moment after they end, and not in the order in which they ended."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """A run at one moment."""

    status: ApiStatus
    stop_reason: str | None
    progress: RunProgress | None

    @property
    def is_over(self) -> bool:
        return self.status not in ("queued", "running")


def look_at_run(settings: Settings, run_id: str) -> Look:
    """Look at a run, given its whole id."""
    run = run_answer(settings, run_id)
    return Look(status=run.status, stop_reason=run.stop_reason, progress=run.progress)


def finished_cases(
    settings: Settings, run_id: str, since: NewsPlace, known: Collection[NewsPlace] = ()
) -> list[CaseNews]:
    """Cases that ended after this place, at most `MOST_NEWS`, without those that are known."""
    return open_store(settings).news(run_id, since, known)


def a_little_before(moment: str) -> str:
    """So early that no case is missed whose end was stored after this moment; raises `ValueError`."""
    return (datetime.fromisoformat(moment) - _OVERLAP).isoformat(timespec="milliseconds").replace("+00:00", "Z")
