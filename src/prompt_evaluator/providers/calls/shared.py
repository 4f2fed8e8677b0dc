"""State shared by all calls of a process: connections, a governor per key and endpoint, and breakers per entry."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.errors import StoreError
from prompt_evaluator.providers.calls.breaker import Breakers
from prompt_evaluator.providers.calls.governor import Governor
from prompt_evaluator.providers.calls.loop_lag import LoopLag
from prompt_evaluator.providers.calls.shared_key import SharedKey, StoreThread
from prompt_evaluator.providers.catalogue import KINDS, check_settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import ProviderSettings, Secret
    from prompt_evaluator.ports import Provider, SharedLimits
    from prompt_evaluator.providers.calls.traits import Traits
    from prompt_evaluator.providers.http import Http


class Resources:
    """Shared resources that providers may use but must not close."""

    def __init__(self) -> None:
        self._http: Http | None = None

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


class KeyState(NamedTuple):
    """State of one key at one endpoint."""

    governor: Governor
    shared: SharedKey | None = None
    """The key in the store, if its limits are kept together with other processes."""


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
        self.limits: SharedLimits | None = None
        """Where limits are kept together with other processes. Set it before the first call."""
        self._thread: StoreThread | None = None
        self._clock, self._share, self._on_push_back = clock, share, on_push_back
        self._lag = LoopLag(self._find_holds)
        self._keys: dict[tuple[str, Secret | None], KeyState] = {}
        self._governors: dict[str, Governor] = {}
        """By the name of an entry."""
        self._breakers: dict[tuple[str, bytes, Secret | None], Breakers] = {}
        self._open: dict[tuple[str, bytes], Provider] = {}

    def provider(self, name: str, settings: ProviderSettings) -> Provider:
        """Return the provider of an entry, creating it on first use."""
        entry = (name, msgspec.json.encode(settings))
        if entry not in self._open:
            check_settings(name, settings)
            self._open[entry] = KINDS.get(settings.kind)(name, settings, self.resources)
        return self._open[entry]

    def key_state(self, name: str, settings: ProviderSettings, traits: Traits, wanted: int | None = None) -> KeyState:
        """Return the governor of an entry's key, and apply its limits together with those of others with that key."""
        identity = (traits.endpoint or name, traits.key)
        if identity not in self._keys:
            shared = SharedKey(self.limits, self.thread, *identity) if self.limits else None
            told = self._on_push_back and functools.partial(self._on_push_back, name)
            governor = Governor(
                settings.limits, lag=self._lag.seconds, shared=shared, share=self._share, on_push_back=told
            )
            self._keys[identity] = KeyState(governor, shared)
        self._keys[identity].governor.join(settings.limits, wanted)
        self._governors[name] = self._keys[identity].governor
        return self._keys[identity]

    def breakers(self, name: str, settings: ProviderSettings, traits: Traits) -> Breakers:
        """Return the breakers of an entry. Others with its key may have another path, proxy or certificate."""
        entry = (name, msgspec.json.encode(settings), traits.key)
        if entry not in self._breakers:
            self._breakers[entry] = Breakers(name, traits.endpoint, self._clock)
        return self._breakers[entry]

    def pushed_back_elsewhere(self, name: str, hold: float | None) -> None:
        """Slow down the calls of an entry, because another process got a 429 for the same key."""
        if (governor := self._governors.get(name)) is not None:
            governor.pushed_back_elsewhere(hold)

    @property
    def thread(self) -> StoreThread:
        """Asks the store; started when it is first needed."""
        if self._thread is None:
            self._thread = StoreThread()
        return self._thread

    def _find_holds(self) -> None:
        """Ask which keys were refused by their service in another process, and hold back their calls here, too."""
        keys = [(state.shared, state.governor) for state in self._keys.values() if state.shared is not None]
        limits = self.limits
        if not keys or limits is None:
            return

        def ask() -> dict[str, float]:
            return limits.held([key.digest() for key, _ in keys])

        def found(held: dict[str, float] | StoreError) -> None:
            if isinstance(held, StoreError):
                return  # asked again in a second
            for key, governor in keys:
                if seconds := held.get(key.digest()):
                    governor.hold(seconds)

        self.thread.ask(ask, found)

    async def close(self) -> None:
        """Close providers and connections. No call may be in flight."""
        self._lag.stop()
        if self._thread is not None:
            await self._thread.close()
            self._thread = None
        for provider in self._open.values():
            await provider.close()
        self._open.clear()
        await self.resources.close()
