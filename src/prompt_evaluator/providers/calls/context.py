"""What the calls of one process share: limits, breakers, budget, accounting and connections."""

from __future__ import annotations

import asyncio
import time
from random import Random
from typing import TYPE_CHECKING

from prompt_evaluator.providers.calls.breaker import Breaker
from prompt_evaluator.providers.calls.budget import Budget
from prompt_evaluator.providers.calls.governor import Governor
from prompt_evaluator.providers.calls.meter import Meter
from prompt_evaluator.providers.calls.policy import CallPolicy
from prompt_evaluator.providers.prices import Prices

if TYPE_CHECKING:
    from collections.abc import Hashable

    from prompt_evaluator.model import ProviderSettings, Secret
    from prompt_evaluator.providers.transport.http import Http

_TICK = 0.05


class CallContext:
    """Makes call policies. Everything that talks to a model in one run goes through one context."""

    def __init__(
        self,
        *,
        meter: Meter | None = None,
        max_concurrency: int | None = None,
        budget: Budget | None = None,
        seed: int = 0,
    ) -> None:
        """Take who counts, a cap on the calls in flight per key, a budget for all, and a seed for jitter."""
        self._budget = budget or Budget()
        self.meter = meter or Meter()
        self._cap = max_concurrency
        self._rng = Random(seed)  # noqa: S311 - spreads waits, guards nothing
        self._shared: dict[Hashable, tuple[Governor, Breaker]] = {}
        self._lag = LoopLag()
        self._http: Http | None = None

    @property
    def http(self) -> Http:
        """The connections, opened by the first provider that needs any."""
        if self._http is None:
            from prompt_evaluator.providers.transport.http import Http  # noqa: PLC0415 - offline needs no TLS

            self._http = Http()
        return self._http

    def policy(
        self, name: str, settings: ProviderSettings, key: Secret | None = None, endpoint: str = ""
    ) -> CallPolicy:
        """The policy of a provider. The same key at the same endpoint gets the same budget, whatever the name."""
        limits = settings.limits
        identity = (endpoint or name, key)
        if identity not in self._shared:
            governor = Governor(limits, cap=self._cap, lag=self._lag.seconds)
            self._shared[identity] = (governor, Breaker(name))
            self.meter.gauges.append(governor)
        governor, breaker = self._shared[identity]
        return CallPolicy(
            name,
            limits,
            governor=governor,
            breaker=breaker,
            meter=self.meter,
            prices=Prices(name, settings.prices),
            budget=self._budget,
            rng=self._rng,
        )

    async def close(self) -> None:
        self._lag.stop()
        if self._http is not None:
            await self._http.close()


class LoopLag:
    """How late the event loop runs what it has promised to run."""

    def __init__(self) -> None:
        self._lag = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._asked = 0.0

    def seconds(self) -> float:
        """The latest measurement. Measuring goes on only while somebody asks."""
        self._asked = time.monotonic()
        if self._timer is None:
            self._schedule()
        return self._lag

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _schedule(self) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(_TICK, self._tick, loop.time() + _TICK)

    def _tick(self, due: float) -> None:
        self._timer = None
        late = max(0.0, asyncio.get_running_loop().time() - due)
        self._lag += 0.3 * (late - self._lag)
        if time.monotonic() - self._asked < 1:
            self._schedule()
