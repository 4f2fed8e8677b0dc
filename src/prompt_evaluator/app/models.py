"""From a model's name to a client that calls it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

import msgspec

from prompt_evaluator.calls.governor import DEFAULT_CONCURRENCY
from prompt_evaluator.calls.runs import RunCalls, SharedCalls
from prompt_evaluator.errors import AuthenticationError, ConfigurationError
from prompt_evaluator.model import ModelConfig
from prompt_evaluator.model.run import PricesUsed
from prompt_evaluator.providers.catalogue import BUILT_IN, OVER_HTTP, parse_model_name
from prompt_evaluator.providers.keys import Key
from prompt_evaluator.providers.opened import OpenProviders
from prompt_evaluator.providers.prices import Prices, current_prices

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from types import TracebackType
    from typing import Self

    from prompt_evaluator.calls.budget import Budget
    from prompt_evaluator.calls.meter import Meter
    from prompt_evaluator.model import Price, ProviderSettings, Sent
    from prompt_evaluator.ports import Admission, ModelClient, Provider
    from prompt_evaluator.providers.catalogue import ModelName


Config = TypeVar("Config", bound=ModelConfig)

CODE_MARK = "|code:"
"""Precedes the code digest in an identity."""
_MADE_OF_CODE = ("command", "python")
"""Kinds whose answers come from the user's own program or function, which may change."""


@dataclass(frozen=True, slots=True)
class Connections:
    """What the runs of one process share to make calls."""

    calls: SharedCalls = field(default_factory=SharedCalls)
    providers: OpenProviders = field(default_factory=OpenProviders)

    async def close(self) -> None:
        """Close what is open. No call may be in flight."""
        await self.providers.close()


class Models:
    """The models that one run may call. Runs with the same `Connections` share the limits of each key."""

    def __init__(  # noqa: PLR0913 - what a run may have of its own; all optional
        self,
        configured: Mapping[str, ProviderSettings] | None = None,
        *,
        shared: Connections | None = None,
        meter: Meter | None = None,
        max_concurrency: int | None = None,
        budget: Budget | None = None,
        assumed_price: Price | None = None,
    ) -> None:
        """Set up the models and limits of one run.

        Args:
            configured: Providers by name; they override built-in ones.
            shared: Connections and limits shared with other runs; by default this run has its own and closes them.
            meter: Counts calls.
            max_concurrency: Most calls of this run in flight, per key.
            budget: What this run may spend; may be shared with other runs.
            assumed_price: For models without a known price.
        """
        self.max_concurrency = max_concurrency or DEFAULT_CONCURRENCY
        self.settings = BUILT_IN | dict(configured or {})
        self._shared, self._alone = shared or Connections(), shared is None
        self._calls = RunCalls(self._shared.calls, meter=meter, max_concurrency=max_concurrency, budget=budget)
        self.assumed_price = assumed_price
        self._clients: dict[tuple[str, bool], ModelClient] = {}
        self._names: dict[str, ModelName] = {}

    def name(self, text: str) -> ModelName:
        """Parse a model's name. Raises an error that suggests the nearest name if the provider is unknown."""
        if (known := self._names.get(text)) is None:
            known = self._names[text] = parse_model_name(text, self.settings)
        return known

    def client(self, name: str, *, urgent: bool = False) -> ModelClient:
        """A client for a provider's models, within the limits of its key and of this run.

        Args:
            name: The provider's name.
            urgent: For calls that finish a started sample, such as judging it: they take precedence over others and
                are made even while the run is stopping.
        """
        if (known := self._clients.get((name, urgent))) is None:
            settings = self.settings[name]
            cost = Prices(name, settings, assumed=self.assumed_price).cost
            known = self._calls.client(self._provider(name), settings, cost, urgent=urgent)
            self._clients[name, urgent] = known
        return known

    @property
    def admission(self) -> Admission:
        """Decides whether the next sample may start."""
        return self._calls.admission

    def stop(self) -> None:
        """Make only urgent calls from now on, and start no more samples; other runs are not affected.

        Calls waiting for a slot, for the budget or to retry raise `StoppedError`. Calls in flight continue.
        """
        self._calls.stop()

    def price(self, name: ModelName) -> Price | None:
        """The price of a model; None if unknown."""
        return Prices(name.provider, self.settings[name.provider], assumed=self.assumed_price).of(name.model)

    def prices_used(self) -> PricesUsed:
        """By which prices the cost of a run is counted."""
        listed = current_prices()
        return PricesUsed(as_of=listed.table.as_of, hash=listed.hash, assumed=self.assumed_price)

    def as_sent(self, config: Config, defaults: Collection[str]) -> Config:
        """Note in a configuration which of its parameters the model does not take, so that they are not sent.

        Args:
            config: A model and its parameters.
            defaults: Names of the parameters that the user did not ask for.

        Raises:
            ConfigurationError: A parameter that the user asked for would be left out, and the user wants none to be.
        """
        name = self.name(config.model)
        expected = getattr(self._provider_of_parameters(name.provider), "expected", None)
        if expected is None:
            return config
        asked = {
            "temperature": config.temperature,
            "max_tokens": config.max_tokens,
            "seed": config.seed,
            "effort": config.effort,
            **config.params,
        }
        sent: Sent = expected(name.model, asked, defaults)
        left_out = [left for left in sent.left_out if left.field not in defaults]
        if config.strict_params and left_out:
            first = left_out[0]
            raise ConfigurationError(
                f"{config.model} does not take {first.field!r} ({first.detail}). Leave it out, or run without "
                "--strict-params."
            )
        return msgspec.structs.replace(config, left_out=sent.left_out, ignored=sent.ignored)

    def _provider_of_parameters(self, name: str) -> Provider | None:
        """The provider whose parameters are known; None if it is not reached over HTTP or has no address yet."""
        if self.settings[name].kind not in OVER_HTTP:
            return None
        try:
            return self._provider(name)
        except ConfigurationError:
            return None  # said when the model is checked

    def identity(self, name: ModelName) -> str:
        """Identifies the service without secrets: its address, and for a function or program a digest of its code.

        Needed because the same name may mean another model at another address, and code may change.
        """
        found = self.settings[name.provider]
        address = (os.environ.get(found.base_url_env) if found.base_url_env else None) or found.base_url or ""
        scheme, _, rest = address.partition("://")
        service = f"{found.kind}|{scheme}://{rest.rpartition('@')[2].partition('?')[0].rstrip('/')}"
        code = self._fingerprint(name) if found.kind in _MADE_OF_CODE else None
        return service if code is None else f"{service}{CODE_MARK}{code}"

    def check(self, name: ModelName) -> None:
        """Raise an error, before any call, if the key is unusable or the function or program does not exist."""
        provider = self._provider(name.provider)
        look_up = getattr(provider, "resolve_key", None) or Key(name.provider, self.settings[name.provider]).resolve
        try:
            look_up()
        except AuthenticationError as error:
            raise ConfigurationError(str(error)) from None
        if check := getattr(provider, "check", None):
            check(name.model)

    def _provider(self, name: str) -> Provider:
        return self._shared.providers.get(name, self.settings[name])

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
