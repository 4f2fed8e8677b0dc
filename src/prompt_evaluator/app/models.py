"""From a model's name to somebody who answers for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prompt_evaluator.errors import AuthenticationError, ConfigurationError
from prompt_evaluator.model import Price
from prompt_evaluator.providers.calls.governor import DEFAULT_CONCURRENCY
from prompt_evaluator.providers.calls.run_calls import RunCalls
from prompt_evaluator.providers.calls.shared import SharedCalls
from prompt_evaluator.providers.catalogue import BUILT_IN, parse_model_name
from prompt_evaluator.providers.keys import Key
from prompt_evaluator.providers.prices import Prices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self

    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.ports import Admission, ModelClient, Provider
    from prompt_evaluator.providers.calls.budget import Budget
    from prompt_evaluator.providers.calls.meter import Meter
    from prompt_evaluator.providers.catalogue import ModelName


CODE_MARK = "|code:"
"""What stands before the digest of the code in an identity."""
_MADE_OF_CODE = ("command", "python")
"""Kinds whose answers come from a program or a function of the user's, which can be edited."""


class Models:
    """The models that one run may ask. Runs on the same `SharedCalls` keep the limits of a key together."""

    def __init__(
        self,
        configured: Mapping[str, ProviderSettings] | None = None,
        *,
        shared: SharedCalls | None = None,
        meter: Meter | None = None,
        max_concurrency: int | None = None,
        budget: Budget | None = None,
    ) -> None:
        """Take the configured entries, which go over the built-in ones, and the limits of this run.

        Args:
            configured: Entries by name.
            shared: What runs have in common; without it this run is alone and closes what it has opened.
            meter: Who counts.
            max_concurrency: The most calls of this run in flight, per key.
            budget: What this run may spend, perhaps together with others.
        """
        self.max_concurrency = max_concurrency or DEFAULT_CONCURRENCY
        self.settings = BUILT_IN | dict(configured or {})
        self._shared, self._alone = shared or SharedCalls(), shared is None
        self._calls = RunCalls(self._shared, meter=meter, max_concurrency=max_concurrency, budget=budget)
        self._clients: dict[tuple[str, bool], ModelClient] = {}
        self._names: dict[str, ModelName] = {}

    def name(self, text: str) -> ModelName:
        """Take a model's name apart; an unknown provider is refused with the nearest known."""
        if (known := self._names.get(text)) is None:
            known = self._names[text] = parse_model_name(text, self.settings)
        return known

    def client(self, name: str, *, urgent: bool = False) -> ModelClient:
        """Who answers for a provider's models, within the limits of its key and of this run.

        Args:
            name: The provider's.
            urgent: For what finishes a sample that was begun, such as its judgement: these calls go before others, and
                are made although the run is being stopped.
        """
        if (known := self._clients.get((name, urgent))) is None:
            known = self._calls.client(self._provider(name), self.settings[name], urgent=urgent)
            self._clients[name, urgent] = known
        return known

    @property
    def admission(self) -> Admission:
        """Who says whether the next sample may begin."""
        return self._calls.admission

    def stop(self) -> None:
        """Send no further call that is not urgent, and let no further sample begin; other runs are not touched.

        Whoever waits for a place, for the budget or for the next try gets a `StoppedError`. What was sent goes on.
        """
        self._calls.stop()

    def price(self, name: ModelName) -> Price | None:
        """What a model costs; None when nobody knows. The mock is free."""
        settings = self.settings[name.provider]
        if settings.kind == "mock":
            return Price(input=0, output=0)
        return Prices(name.provider, settings.prices).of(name.model)

    def identity(self, name: ModelName) -> str:
        """Which service answers, without secrets: its address, and a digest of the code of a function or program.

        The same name may be another model somewhere else, and other code may stand behind it tomorrow.
        """
        found = self.settings[name.provider]
        address = (os.environ.get(found.base_url_env) if found.base_url_env else None) or found.base_url or ""
        scheme, _, rest = address.partition("://")
        service = f"{found.kind}|{scheme}://{rest.rpartition('@')[2].partition('?')[0].rstrip('/')}"
        code = self._fingerprint(name) if found.kind in _MADE_OF_CODE else None
        return service if code is None else f"{service}{CODE_MARK}{code}"

    def check(self, name: ModelName) -> None:
        """Refuse, before any call, a provider without a usable key, and a function or program that is not there."""
        try:
            Key(name.provider, self.settings[name.provider]).resolve()
        except AuthenticationError as error:
            raise ConfigurationError(str(error)) from None
        if check := getattr(self._provider(name.provider), "check", None):
            check(name.model)

    def _provider(self, name: str) -> Provider:
        return self._shared.provider(name, self.settings[name])

    def _fingerprint(self, name: ModelName) -> str | None:
        fingerprint: Callable[[str], str | None] | None = getattr(self._provider(name.provider), "fingerprint", None)
        return fingerprint(name.model) if fingerprint else None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._calls.close()
        if self._alone:
            await self._shared.close()
