"""The store that the settings name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.config.loading import Settings
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from typing import Self


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
        opened = KeptStore.open(settings.checked_store())
        return cls(**msgspec.structs.asdict(settings), opened=opened)


def open_store(settings: Settings) -> Store:
    """Open the store, or create it.

    Raises:
        InputError: It was found, not named, and others may have written it.
    """
    if isinstance(settings, ServedSettings):
        return settings.opened
    return Store.open(settings.checked_store())
