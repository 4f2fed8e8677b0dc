"""State shared by all calls of a process: connections, and a governor and breakers per key and endpoint."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.providers.calls.breaker import Breakers
from prompt_evaluator.providers.calls.governor import Governor
from prompt_evaluator.providers.calls.loop_lag import LoopLag
from prompt_evaluator.providers.catalogue import KINDS, check_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.ports import Provider
    from prompt_evaluator.providers.calls.traits import Traits
    from prompt_evaluator.providers.transport.http import Http


class Resources:
    """Shared resources that providers may use but must not close."""

    def __init__(self) -> None:
        self._http: Http | None = None

    @property
    def http(self) -> Http:
        """Pool of connections, created for the first provider that needs it."""
        if self._http is None:
            from prompt_evaluator.providers.transport.http import Http  # noqa: PLC0415 - offline needs no TLS

            self._http = Http()
        return self._http

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()


class KeyState(NamedTuple):
    """State of one key at one endpoint."""

    governor: Governor
    breakers: Breakers


class SharedCalls:
    """State of one event loop. All its runs share the limits of a key and learn from each other's calls."""

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        share: float = 1.0,
        on_push_back: Callable[[str, float | None], None] | None = None,
    ) -> None:
        """Create an empty state.

        Args:
            clock: Returns seconds, for the breakers.
            share: The share of every limit that is this process's, if several make the calls of a run.
            on_push_back: Told the entry whose calls all slow down after a 429, and the seconds to wait, if stated.
        """
        self.resources = Resources()
        self._clock, self._share, self._on_push_back = clock, share, on_push_back
        self._lag = LoopLag()
        self._keys: dict[Hashable, KeyState] = {}
        self._governors: dict[str, Governor] = {}
        """By the name of an entry."""
        self._open: dict[tuple[str, bytes], Provider] = {}

    def provider(self, name: str, settings: ProviderSettings) -> Provider:
        """Return the provider of an entry, creating it on first use."""
        entry = (name, msgspec.json.encode(settings))
        if entry not in self._open:
            check_settings(name, settings)
            self._open[entry] = KINDS.get(settings.kind)(name, settings, self.resources)
        return self._open[entry]

    def key_state(self, name: str, settings: ProviderSettings, traits: Traits, wanted: int | None = None) -> KeyState:
        """Return governor and breakers of an entry, and apply its limits together with those of others with its key."""
        identity = (traits.endpoint or name, traits.key)
        if identity not in self._keys:
            breakers = Breakers(name, traits.endpoint, self._clock)
            told = self._on_push_back and functools.partial(self._on_push_back, name)
            governor = Governor(settings.limits, lag=self._lag.seconds, share=self._share, on_push_back=told)
            self._keys[identity] = KeyState(governor, breakers)
        self._keys[identity].governor.join(settings.limits, wanted)
        self._governors[name] = self._keys[identity].governor
        return self._keys[identity]

    def pushed_back_elsewhere(self, name: str, hold: float | None) -> None:
        """Slow down the calls of an entry, because another process got a 429 for the same key."""
        if (governor := self._governors.get(name)) is not None:
            governor.pushed_back_elsewhere(hold)

    async def close(self) -> None:
        """Close providers and connections. No call may be in flight."""
        for provider in self._open.values():
            await provider.close()
        self._open.clear()
        self._lag.stop()
        await self.resources.close()
