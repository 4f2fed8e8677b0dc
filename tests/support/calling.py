"""Calls as a run makes them, for tests of one provider at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.providers.calls.run_calls import RunCalls
from prompt_evaluator.providers.calls.shared import SharedCalls
from prompt_evaluator.providers.catalogue import KINDS

if TYPE_CHECKING:
    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.ports import Provider
    from prompt_evaluator.providers.calls.client import Client
    from prompt_evaluator.providers.calls.meter import Meter


class Calls:
    """One run, alone or beside others on the same `shared`."""

    def __init__(self, shared: SharedCalls | None = None, **limits: Any) -> None:
        self.shared = shared or SharedCalls()
        self.run = RunCalls(self.shared, **limits)
        self._made: list[Provider] = []

    @property
    def meter(self) -> Meter:
        return self.run.meter

    def open(self, settings: ProviderSettings, name: str = "svc", *, urgent: bool = False) -> Client:
        """A provider of the kind that the settings name."""
        return self.around(KINDS.get(settings.kind)(name, settings, self.shared.resources), settings, urgent=urgent)

    def around(self, provider: Provider, settings: ProviderSettings, *, urgent: bool = False) -> Client:
        """A provider that the test has made."""
        self._made.append(provider)
        return self.run.client(provider, settings, urgent=urgent)

    async def close(self) -> None:
        for provider in self._made:
            await provider.close()
        self.run.close()
        await self.shared.close()
