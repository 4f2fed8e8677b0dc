"""The providers that a process has opened, and what they share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.providers.catalogue import KINDS, check_settings
from prompt_evaluator.providers.learned import Learned
from prompt_evaluator.user_data import user_data_folder

if TYPE_CHECKING:
    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.ports import Provider
    from prompt_evaluator.providers.http import Http


class Resources:
    """Shared resources that providers may use but must not close."""

    def __init__(self) -> None:
        self._http: Http | None = None
        self.learned = Learned(user_data_folder() / "refused-parameters.json")

    @property
    def http(self) -> Http:
        """Pool of connections, created for the first provider that needs it."""
        if self._http is None:
            from prompt_evaluator.providers.http import Http  # noqa: PLC0415 - offline needs no TLS

            self._http = Http()
        return self._http

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()


class OpenProviders:
    """The providers of one event loop, each opened once for all runs."""

    def __init__(self) -> None:
        self._resources = Resources()
        self._open: dict[tuple[str, bytes], Provider] = {}

    def get(self, name: str, settings: ProviderSettings) -> Provider:
        """Return the provider of an entry, opened on first use."""
        entry = (name, msgspec.json.encode(settings))
        if entry not in self._open:
            check_settings(name, settings)
            self._open[entry] = KINDS.get(settings.kind)(name, settings, self._resources)
        return self._open[entry]

    async def close(self) -> None:
        """Close providers and connections. No call may be in flight."""
        for provider in self._open.values():
            await provider.close()
        self._open.clear()
        await self._resources.close()
