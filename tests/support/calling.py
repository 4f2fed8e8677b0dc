"""Calls as a run makes them, for tests of one provider at a time."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from prompt_evaluator.calls.runs import RunCalls, SharedCalls
from prompt_evaluator.model import Answer, Message, Request, Usage
from prompt_evaluator.providers.catalogue import KINDS
from prompt_evaluator.providers.opened import Resources
from prompt_evaluator.providers.prices import Prices

if TYPE_CHECKING:
    from prompt_evaluator.calls.client import Client
    from prompt_evaluator.calls.meter import Meter
    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.ports import Provider


REQUEST = Request(model="m", messages=(Message("user", "hello"),))
ANSWER = Answer(text="hi", latency_ms=1.0, model="m", usage=Usage(input_tokens=1_000, output_tokens=500))


def asking(number: int, model: str = "m") -> Request:
    return Request(model=model, messages=(Message("user", f"hello {number}"),))


class Calls:
    """One run, alone or beside others on the same `shared`, by the clock of the event loop."""

    def __init__(self, shared: SharedCalls | None = None, **limits: Any) -> None:
        self.shared = shared or SharedCalls(_now)
        self.run = RunCalls(self.shared, **limits)
        self.resources = Resources()
        self._made: list[Provider] = []

    @property
    def meter(self) -> Meter:
        return self.run.meter

    def open(self, settings: ProviderSettings, name: str = "svc", *, urgent: bool = False) -> Client:
        """A provider of the kind that the settings name."""
        return self.around(KINDS.get(settings.kind)(name, settings, self.resources), settings, urgent=urgent)

    def around(self, provider: Provider, settings: ProviderSettings, *, urgent: bool = False) -> Client:
        """A provider that the test has made."""
        self._made.append(provider)
        cost = Prices(provider.name, settings).cost
        return self.run.client(provider, settings, cost, urgent=urgent)

    async def close(self) -> None:
        for provider in self._made:
            await provider.close()
        self.run.close()
        await self.resources.close()


def _now() -> float:
    return asyncio.get_running_loop().time()


class FakeProvider:
    """A provider that raises what it is told, one after the other, then answers."""

    name = "svc"

    def __init__(self, *errors: BaseException, seconds: float = 0.0, endpoint: str = "") -> None:
        self.errors, self._seconds, self.endpoint = list(errors), seconds, endpoint
        self.tries: list[float] = []
        self.given: list[float] = []
        self.asked: list[Request] = []
        self.at_once = self.most_at_once = 0

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109
        self.tries.append(asyncio.get_running_loop().time())
        self.given.append(timeout)
        self.asked.append(request)
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await asyncio.sleep(self._seconds)
        self.at_once -= 1
        if self.errors:
            raise self.errors.pop(0)
        return ANSWER

    async def close(self) -> None:
        """There is nothing to let go of."""
