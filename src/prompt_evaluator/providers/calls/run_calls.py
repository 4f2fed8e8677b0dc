"""The calls of one run, with their own budget, meter, cap on calls in flight, and stop."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from prompt_evaluator.providers.calls.budget import Budget
from prompt_evaluator.providers.calls.client import Client
from prompt_evaluator.providers.calls.meter import Meter
from prompt_evaluator.providers.calls.stop import Stop
from prompt_evaluator.providers.calls.traits import Traits, tell_limits

if TYPE_CHECKING:
    from prompt_evaluator.model import Price, ProviderSettings
    from prompt_evaluator.ports import Provider
    from prompt_evaluator.providers.calls.governor import Governor
    from prompt_evaluator.providers.calls.lanes import Lane
    from prompt_evaluator.providers.calls.shared import SharedCalls


class RunCalls:
    """Creates the clients of one run."""

    def __init__(  # noqa: PLR0913 - what a run may have of its own; all optional
        self,
        shared: SharedCalls,
        *,
        meter: Meter | None = None,
        max_concurrency: int | None = None,
        budget: Budget | None = None,
        assumed_price: Price | None = None,
        seed: int = 0,
    ) -> None:
        """Create the state of one run.

        Args:
            shared: State shared by all runs.
            meter: By default a new one without a listener.
            max_concurrency: Cap on calls in flight per key.
            budget: By default unlimited.
            assumed_price: For models without a known price.
            seed: Seed for the jitter of waits.
        """
        self._shared, self._cap = shared, max_concurrency
        self._budget = budget or Budget()
        self._assumed_price = assumed_price
        self.meter = meter or Meter()
        self._stop = Stop()
        self.admission = SampleAdmission(self._budget, self._stop)
        self._rng = Random(seed)  # noqa: S311 - only for jitter
        self._lanes: dict[Governor, Lane] = {}

    def client(self, provider: Provider, settings: ProviderSettings, *, urgent: bool = False) -> Client:
        """Create a client for a provider. Urgent calls go first, and are made even if the run is being stopped."""
        traits = Traits.of(provider)
        state = self._shared.key_state(provider.name, settings, traits, self._cap)
        tell_limits(provider, state.governor.learn)
        return Client(
            provider,
            settings,
            traits,
            governor=state.governor,
            breakers=self._shared.breakers(provider.name, settings, traits),
            lane=self._lane(state.governor, settings),
            meter=self.meter,
            budget=self._budget,
            stop=self._stop,
            rng=self._rng,
            urgent=urgent,
            assumed_price=self._assumed_price,
        )

    def stop(self) -> None:
        """Send only urgent calls from now on. Waiting calls raise `StoppedError`; calls in flight continue."""
        self._stop.stop()

    def close(self) -> None:
        """Release the run's lanes and what it reserved of shared budgets. No call may be in flight or follow."""
        self._budget.release()
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
        if not self._budget.try_start_sample(calls):
            await self._budget.start_sample(calls, self._stop.wait)
            if self._stop.stopped:
                self._budget.end_sample()
                self._stop.check()

    def end(self) -> None:
        self._budget.end_sample()
