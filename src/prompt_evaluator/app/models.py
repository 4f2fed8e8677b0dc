"""From a model's name to somebody who answers for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prompt_evaluator.errors import AuthenticationError, ConfigurationError
from prompt_evaluator.model import Price
from prompt_evaluator.providers.calls.context import CallContext
from prompt_evaluator.providers.calls.governor import DEFAULT_CONCURRENCY
from prompt_evaluator.providers.catalogue import BUILT_IN, KINDS, parse_model_name
from prompt_evaluator.providers.keys import Key
from prompt_evaluator.providers.prices import Prices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import TracebackType
    from typing import Self

    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.ports import Provider
    from prompt_evaluator.providers.calls.budget import Budget
    from prompt_evaluator.providers.calls.meter import Meter
    from prompt_evaluator.providers.catalogue import ModelName


CODE_MARK = "|code:"
"""What stands before the digest of the code in an identity."""
_MADE_OF_CODE = ("command", "python")
"""Kinds whose answers come from a program or a function of the user's, which can be edited."""


class Models:
    """The providers of one run. Those that share a key and an endpoint share its budget."""

    def __init__(
        self,
        configured: Mapping[str, ProviderSettings] | None = None,
        *,
        meter: Meter | None = None,
        max_concurrency: int | None = None,
        budget: Budget | None = None,
    ) -> None:
        """Take the configured entries, which go over the built-in ones, who counts, and the limits of this run."""
        self.max_concurrency = max_concurrency or DEFAULT_CONCURRENCY
        self.settings = BUILT_IN | dict(configured or {})
        self.calls = CallContext(meter=meter, max_concurrency=max_concurrency, budget=budget)
        self._open: dict[str, Provider] = {}

    def name(self, text: str) -> ModelName:
        """Take a model's name apart; an unknown provider is refused with the nearest known."""
        return parse_model_name(text, self.settings)

    def provider(self, name: str) -> Provider:
        """The provider of that name, made when it is first asked for."""
        if name not in self._open:
            settings = self.settings[name]
            self._open[name] = KINDS.get(settings.kind)(name, settings, self.calls)
        return self._open[name]

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
        if check := getattr(self.provider(name.provider), "check", None):
            check(name.model)

    def _fingerprint(self, name: ModelName) -> str | None:
        fingerprint: Callable[[str], str | None] | None = getattr(self.provider(name.provider), "fingerprint", None)
        return fingerprint(name.model) if fingerprint else None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for provider in self._open.values():
            await provider.close()
        await self.calls.close()
