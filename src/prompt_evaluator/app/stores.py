"""The store that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.config.loading import Settings
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from prompt_evaluator.model import RunRecord, Unit
    from prompt_evaluator.ports import Filler


class KeptStore(Store):
    """A store that stays open until the process ends: a server does not open it for every request."""

    def close(self) -> None:
        """Leave it open, for the next use case."""

    def close_for_good(self) -> None:
        super().close()


class ServedSettings(Settings, frozen=True, kw_only=True):
    """The settings of a process that keeps its store open."""

    opened: KeptStore

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The same settings, with the store opened now."""
        opened = KeptStore.open(settings.checked_store(), fill=fill_results)
        return cls(**msgspec.structs.asdict(settings), opened=opened)


def open_store(settings: Settings) -> Store:
    """Open the store, or create it. A store from an earlier version is migrated.

    Raises:
        InputError: It was found, not named, and others may have written it.
    """
    if isinstance(settings, ServedSettings):
        return settings.opened
    return Store.open(settings.checked_store(), fill=fill_results)


def named_store(settings: Settings, given: str) -> Path | str:
    """The store that a command names, relative to the working directory."""
    return given if "://" in given else settings.cwd / Path(given).expanduser()


def fill_results(record: RunRecord, prepared: Sequence[Unit]) -> Filler:
    """Compute the results of a run from its units, for a store of an earlier version."""
    from prompt_evaluator.app.filling import StoredResults  # noqa: PLC0415 - queries do not need metrics

    return StoredResults(record, prepared)
