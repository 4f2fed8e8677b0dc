"""Watches a run in another process."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.run_queries import stored_outcome
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model import RunProgress, RunRecord
from prompt_evaluator.model.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.store import Store

_EVERY = 1.0
_MISSED = 2
"""Checks in a row without an owner that count as none: a new run is stored shortly before it has an owner."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A run at one moment."""

    record: RunRecord
    progress: RunProgress | None
    """As last reported by its process, at most a few seconds ago; None before the first report."""


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """How watching a run ended."""

    outcome: Outcome
    interrupted: bool
    """Whether its process ended before the run did."""


def watch_run(
    settings: Settings, run_id: str, show: Callable[[Picture], None], *, pause: Callable[[float], None] = time.sleep
) -> Watched:
    """Check a run once a second until it has ended or its process is gone. A queued run is waited for.

    Args:
        settings: Name the store.
        run_id: The run's id, or the beginning of its id.
        show: Called with each picture while the run is in progress.
        pause: Waits for the given number of seconds.
    """
    with closing(open_store(settings)) as store:
        full = store.full_id(run_id)
        for picture in _pictures(store, full, pause):
            show(picture)
        outcome = stored_outcome(store, full)
        return Watched(outcome=outcome, interrupted=store.run(full).status == "running")


def _pictures(store: Store, run_id: str, pause: Callable[[float], None]) -> Iterator[Picture]:
    """Yield pictures while the run is in progress."""
    missed = 0
    while True:
        # In this order, because an owner stores the final status before it releases the run.
        owned = store.owner(run_id) is not None
        record = store.run(run_id)
        missed = 0 if owned or record.status == "queued" else missed + 1
        if record.status not in ("queued", "running") or missed == _MISSED:
            return
        yield Picture(record=record, progress=store.run_line(run_id).progress)
        pause(_EVERY)
