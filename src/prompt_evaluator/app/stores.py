"""The store that the settings name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from prompt_evaluator.config.loading import Settings
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from typing import Self

    from prompt_evaluator.model import RunRecord, Unit
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.model.release import Baseline
    from prompt_evaluator.ports import Filler

T = TypeVar("T")


class KeptStore(Store):
    """A store that stays open until the process ends: a server does not open it for every request."""

    def close(self) -> None:
        """Leave it open, for the next use case."""

    def close_for_good(self) -> None:
        super().close()


class StillStore(KeptStore):
    """Looks each run up once: for a process that shows runs as they are when it starts."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._found: dict[tuple[object, ...], Any] = {}

    def full_id(self, name: str) -> str:
        return self._once(("id", name), lambda: super(StillStore, self).full_id(name))

    def run(self, run_id: str) -> RunRecord:
        return self._once(("run", run_id), lambda: super(StillStore, self).run(run_id))

    def run_line(self, run_id: str, *, interrupted: Collection[str] = ()) -> RunLine:
        key = ("line", run_id, frozenset(interrupted))
        return self._once(key, lambda: super(StillStore, self).run_line(run_id, interrupted=interrupted))

    def baselines(self) -> list[Baseline]:
        return self._once(("baselines",), super().baselines)

    def running(self) -> list[str]:
        return self._once(("running",), super().running)

    def _once(self, key: tuple[object, ...], find: Callable[[], T]) -> T:
        if key not in self._found:
            self._found[key] = find()
        found: T = self._found[key]
        return found


class ServedSettings(Settings, frozen=True, kw_only=True):
    """The settings of a process that keeps its store open."""

    opened: KeptStore

    @classmethod
    def of(cls, settings: Settings, kind: type[KeptStore] = KeptStore) -> Self:
        """The same settings, with the store opened now."""
        return cls(**msgspec.structs.asdict(settings), opened=kind.open(settings.checked_store(), fill=fill_results))


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
