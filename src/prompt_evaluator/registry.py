"""Names → implementations: a table you can read, and what plug-ins add to it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from prompt_evaluator.errors import PluginError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")


class Registry(Generic[T]):
    """Loads an implementation when it is asked for; listing names imports none of them."""

    def __init__(self, kind: str, table: Mapping[str, str], *, entry_points: str) -> None:
        """Take the built-in names with their `module:attribute`, and the group under which plug-ins add more."""
        self._kind, self._table, self._group = kind, dict(table), entry_points
        self._loaded: dict[str, T] = {}
        """Each case may ask by name, and looking through what is installed takes milliseconds."""

    def names(self) -> list[str]:
        return sorted({*self._table, *self._plugins()})

    def get(self, name: str) -> T:
        if (loaded := self._loaded.get(name)) is None:
            loaded = self._loaded[name] = self._load(name)
        return loaded

    def _load(self, name: str) -> T:
        if target := self._table.get(name):
            module, _, attribute = target.partition(":")
            built_in: T = getattr(importlib.import_module(module), attribute)
            return built_in
        plugins = self._plugins()
        if name not in plugins:
            raise UnknownNameError(self._kind, name, [*self._table, *plugins])
        try:
            plugin: T = plugins[name].load()
        except Exception as error:  # foreign code, loaded by name: whatever it raises is its author's to mend
            raise PluginError(f"The {self._kind} plug-in {name!r} cannot be loaded: {error!r}.") from error
        return plugin

    def _plugins(self) -> dict[str, Any]:
        from importlib.metadata import entry_points  # noqa: PLC0415 - costs 20 ms; built-in names do without

        return {point.name: point for point in entry_points(group=self._group)}
