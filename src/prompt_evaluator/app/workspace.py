"""What the runs of one process share: settings, the store and connections."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_evaluator.app.models import Connections
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import open_store

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.engines.ray.cluster import RayCluster
    from prompt_evaluator.store import Store


@dataclass(slots=True)
class Workspace:
    """An async context manager for many runs on one event loop; closes what they opened on exit.

    Runs share connections, the rate limits of each key and what is learned about them. Each run has its own budget and
    can be stopped on its own.
    """

    settings: Settings = field(default_factory=read_settings)
    connections: Connections = field(default_factory=Connections)
    _store: Store | None = field(default=None, init=False)
    _ray: RayCluster | None = field(default=None, init=False)

    @property
    def store(self) -> Store:
        """The store that the settings name, opened on first use."""
        if self._store is None:
            self._store = open_store(self.settings)
        return self._store

    def ray(self, address: str | None) -> RayCluster:
        """The connection to a Ray cluster, made on first use; by default to a Ray of our own.

        Raises:
            ConfigurationError: The extra `ray` is not installed.
        """
        if self._ray is None:
            from prompt_evaluator.engines.ray.cluster import RayCluster  # noqa: PLC0415 - an optional extra

            self._ray = RayCluster(address)
        return self._ray

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.connections.close()
        if self._ray is not None:
            await self._ray.close()
            self._ray = None
        if self._store is not None:
            self._store.close()
            self._store = None
