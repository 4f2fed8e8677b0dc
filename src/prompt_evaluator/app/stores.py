"""The store that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunRecord, Unit
    from prompt_evaluator.ports import Filler


def open_store(settings: Settings) -> Store:
    """Open the store, or create it. A store from an earlier version is migrated."""
    return Store.open(settings.store, fill=_fill)


def _fill(record: RunRecord, prepared: Sequence[Unit]) -> Filler:
    from prompt_evaluator.app.filling import StoredResults  # noqa: PLC0415 - queries do not need metrics

    return StoredResults(record, prepared)
