"""Maps names to implementations: a readable table, extended by plug-ins."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from prompt_evaluator.errors import PluginError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")


class Registry(Generic[T]):
    """Loads an implementation on first use; listing names imports nothing."""

    def __init__(self, kind: str, table: Mapping[str, str], *, entry_points: str) -> None:
        """Create a registry.

        Args:
            kind: What is registered, for error messages.
            table: Maps built-in names to `module:attribute`.
            entry_points: The entry point group of plug-ins.
        """
        self._kind, self._table, self._group = kind, dict(table), entry_points
        self._loaded: dict[str, T] = {}
        """A cache: every case may look up a name, and scanning installed packages takes milliseconds."""

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
        except Exception as error:  # a plug-in may raise anything on import
            raise PluginError(f"The {self._kind} plug-in {name!r} cannot be loaded: {error!r}.") from error
        return plugin

    def _plugins(self) -> dict[str, Any]:
        from importlib.metadata import entry_points  # noqa: PLC0415 - takes 20 ms, and built-in names do not need it

        return {point.name: point for point in entry_points(group=self._group)}
