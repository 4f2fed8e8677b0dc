"""What commands that look after a store report."""

from __future__ import annotations

from typing import Literal

import msgspec


class Migration(msgspec.Struct, frozen=True, kw_only=True):
    """A store brought to the schema revision of this version."""

    store: str
    before: str | None
    """The revision it had; None if it was empty."""
    after: str
    steps: tuple[str, ...] = ()
    """What each step changes, oldest first."""
    filled_runs: int = 0
    """Runs whose results were computed from their answers and judgements."""
    unreadable_runs: tuple[str, ...] = ()
    """Runs that could not be read, and were left as they are."""

    @property
    def is_needed(self) -> bool:
        """Whether anything was to be done."""
        return self.before != self.after


class StoreFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that `store check` found."""

    level: Literal["problem", "note"]
    """A problem has to be solved; a note is worth knowing."""
    text: str
    advice: str
    run_id: str | None = None


class StoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that `store check` found."""

    store: str
    ok: bool
    """Whether there are no problems."""
    deep: bool
    revision: str | None
    """None if the store could not be opened."""
    runs: int
    """How many runs were checked."""
    findings: tuple[StoreFinding, ...]


class RunCopy(msgspec.Struct, frozen=True, kw_only=True):
    """What `store copy` did with one run."""

    run_id: str
    outcome: Literal["copied", "already there", "left out"]
    rows: int = 0
    """Rows that were written."""
    reason: str = ""
    """Why it was left out, and what to do about it."""


class CopyReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that `store copy` did."""

    source: str
    target: str
    ok: bool
    """Whether the target now has every run that was to be copied, unchanged."""
    runs: tuple[RunCopy, ...]
    notes: tuple[str, ...] = ()
    """Names that mean something else in the target, and were left as they are there."""
    not_copied: tuple[str, ...] = ()
    """Tables that belong to one server, and are never copied."""
