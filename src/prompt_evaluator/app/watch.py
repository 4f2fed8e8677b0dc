"""Following a run that another process works on."""

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
"""Looks without an owner after which there is none: a run that begins is in the store a moment before it is owned."""


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    """A run at one moment."""

    record: RunRecord
    progress: RunProgress | None
    """As its process last said, at most a few seconds ago; None while it has said nothing."""


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """How a run that was watched stands when there is nothing more to see."""

    outcome: Outcome
    interrupted: bool
    """Whether its process is gone before the run has ended."""


def watch_run(
    settings: Settings, run_id: str, show: Callable[[Picture], None], *, pause: Callable[[float], None] = time.sleep
) -> Watched:
    """Look at a run once a second until it has ended or nobody works on it any more.

    Args:
        settings: They name the store.
        run_id: The run, or the start of its id.
        show: Called with every picture of a run that is going on.
        pause: Waits for so many seconds.
    """
    with closing(open_store(settings)) as store:
        full = store.full_id(run_id)
        for picture in _pictures(store, full, pause):
            show(picture)
        outcome = stored_outcome(store, full)
        return Watched(outcome=outcome, interrupted=store.run(full).status == "running")


def _pictures(store: Store, run_id: str, pause: Callable[[float], None]) -> Iterator[Picture]:
    """While the run goes on."""
    missed = 0
    while True:
        # In this order: who lets go of a run has said before how it ended.
        owned = store.owner(run_id) is not None
        record = store.run(run_id)
        missed = 0 if owned else missed + 1
        if record.status != "running" or missed == _MISSED:
            return
        yield Picture(record=record, progress=store.run_line(run_id).progress)
        pause(_EVERY)
