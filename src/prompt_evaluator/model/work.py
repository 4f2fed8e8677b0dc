"""What goes to an engine and what comes back: values that survive being sent to another process."""

from __future__ import annotations

from typing import Literal

import msgspec

from prompt_evaluator.model.case import TestCase
from prompt_evaluator.model.run import Unit


class WorkItem(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of one case, with all that is finished of it."""

    case: TestCase
    sample: int
    own: tuple[Unit, ...] = ()
    """Units of this run."""
    linked: tuple[Unit, ...] = ()
    """Units of other runs that ask the same, to be kept with this run instead of being paid for again."""
    until: Literal["answer", "scores"] = "scores"
    """Where to end: with the answer, to be judged by whoever gets the item next, or with everything."""


class StopCause(msgspec.Struct, frozen=True, kw_only=True):
    """Why no further item can be worked on."""

    kind: str
    """The error's class."""
    message: str
    provider: str = ""


class ItemEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How an item ended. What was finished has been handed over before, unit by unit."""

    case_id: str
    sample: int
    state: Literal["finished", "answered", "stopped"]
    """`answered` where the item was to end with its answer; `stopped` where it could not be finished."""
    cause: StopCause | None = None
    """Why it was stopped, unless it was because the run is being stopped anyway."""
    time_outs: int = 0
    """Tries that timed out, of a call that was stopped: nobody else keeps an account of them."""
