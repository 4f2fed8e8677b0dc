"""The calls of one run, and what the runs of a process share: a governor for each key, and breakers for each entry."""

from __future__ import annotations

import functools
import time
from random import Random
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.calls.breaker import Breaker
from prompt_evaluator.calls.budget import Budget
from prompt_evaluator.calls.client import Client, Traits
from prompt_evaluator.calls.governor import Governor
from prompt_evaluator.calls.meter import Meter
from prompt_evaluator.calls.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.calls.client import Cost
    from prompt_evaluator.calls.governor import Lane
    from prompt_evaluator.model import ProviderSettings, Secret
    from prompt_evaluator.ports import Provider


class SharedCalls:
    """State of one event loop. All its runs share the limits of a key and learn from each other's calls."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, *, share: float = 1.0) -> None:
        self.clock, self._share = clock, share
        self._governors: dict[tuple[str, Secret | None], Governor] = {}
        self._breakers: dict[tuple[object, ...], Breaker] = {}

    def governor(self, name: str, settings: ProviderSettings, traits: Traits, wanted: int | None = None) -> Governor:
        """Return the governor of an entry's key, and apply its limits together with those of others with that key."""
        identity = (traits.endpoint or name, traits.key)
        if identity not in self._governors:
            self._governors[identity] = Governor(settings.limits, clock=self.clock, share=self._share)
        self._governors[identity].join(settings.limits, wanted)
        return self._governors[identity]

    def breaker(self, name: str, settings: ProviderSettings, traits: Traits, model: str, *, urgent: bool) -> Breaker:
        """Return the breaker of a model, for answers or for judgements.

        Entries do not share one, even with one key at one endpoint: they may have another path, proxy or certificate.
        Nor do answers and judgements: a judge that never answers is hopeless even if the generator works.
        """
        entry = (name, msgspec.json.encode(settings), traits.key, model, urgent)
        if entry not in self._breakers:
            asked = f"{model} at {traits.endpoint}" if traits.endpoint else model
            self._breakers[entry] = Breaker(name, self.clock, asked=asked)
        return self._breakers[entry]


class RunCalls:
    """Creates the clients of one run, with their own budget, meter, cap on calls in flight, and stop."""

    def __init__(
        self,
        shared: SharedCalls,
        *,
        meter: Meter | None = None,
        max_concurrency: int | None = None,
        budget: Budget | None = None,
        seed: int = 0,
    ) -> None:
        self._shared, self._cap = shared, max_concurrency
        self.budget, self.meter, self.stopping = budget or Budget(), meter or Meter(), Stop()
        self.clock, self.rng = shared.clock, Random(seed)  # noqa: S311 - only for jitter
        self.admission = SampleAdmission(self.budget, self.stopping)
        self._lanes: dict[Governor, Lane] = {}

    def client(self, provider: Provider, settings: ProviderSettings, cost: Cost, *, urgent: bool = False) -> Client:
        """Create a client for a provider. Urgent calls go first, and are made even if the run is being stopped."""
        name, traits = provider.name, Traits.of(provider)
        governor = self._shared.governor(name, settings, traits, self._cap)
        return Client(
            provider,
            settings,
            traits=traits,
            cost=cost,
            governor=governor,
            lane=self._lane(governor, settings),
            breaker_of=functools.partial(self._shared.breaker, name, settings, traits, urgent=urgent),
            run=self,
            urgent=urgent,
        )

    def stop(self) -> None:
        """Send only urgent calls from now on. Waiting calls raise `StoppedError`; calls in flight continue."""
        self.stopping.stop()

    def close(self) -> None:
        """Release the run's lanes. No call may be in flight or follow."""
        for governor, lane in self._lanes.items():
            governor.close_lane(lane)
            self.meter.gauges.remove(lane)
        self._lanes.clear()

    def _lane(self, governor: Governor, settings: ProviderSettings) -> Lane:
        if governor not in self._lanes:
            self._lanes[governor] = governor.open_lane(self._cap)
            self.meter.gauges.append(self._lanes[governor])
        lane = self._lanes[governor]
        if self._cap is None and (most := settings.limits.max_concurrency):
            lane.cap = max(lane.cap, most)  # the governor enforces the strictest
        return lane


class SampleAdmission:
    """Implements the port `Admission` with the budget and stop of one run."""

    def __init__(self, budget: Budget, stop: Stop) -> None:
        self._budget, self._stop = budget, stop

    async def start(self, calls: int) -> None:
        self._stop.check()
        await self._budget.start_sample(calls, self._stop.wait)
        if self._stop.stopped:
            self._budget.end_sample()
            self._stop.check()

    def end(self) -> None:
        self._budget.end_sample()
