"""Available providers, and how model names are parsed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.providers.presets import PRESETS as BUILT_IN
from prompt_evaluator.providers.presets import SERVICES
from prompt_evaluator.providers.prices import current_prices
from prompt_evaluator.registry import Registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_evaluator.model import ProviderSettings
    from prompt_evaluator.ports import Provider
    from prompt_evaluator.providers.opened import Resources

    Factory = Callable[[str, ProviderSettings, Resources], Provider]

__all__ = ["BUILT_IN", "KINDS", "OVER_HTTP", "ModelName", "check_settings", "parse_model_name"]

KINDS: Registry[Factory] = Registry(
    "kind of provider",
    {
        "anthropic": "prompt_evaluator.providers.service:build",
        "command": "prompt_evaluator.providers.command:build",
        "mock": "prompt_evaluator.providers.mock.provider:build",
        "openai": "prompt_evaluator.providers.service:build",
        "python": "prompt_evaluator.providers.function:build",
        "router": "prompt_evaluator.providers.protocols.router:build",
    },
    entry_points="prompt_evaluator.providers",
)

OVER_HTTP = ("openai", "anthropic", "router")
"""The kinds that use HTTP: proxy and certificate settings apply to them."""
_NOT_OVER_HTTP = ("command", "mock", "python")

_DEFAULT_MODELS = {"mock": "default", "router": "default"}


def check_settings(name: str, settings: ProviderSettings) -> None:
    """Raise `ConfigurationError` for settings that the entry's kind ignores, and for services nobody knows."""
    unused = [field for field in ("proxy", "ca_file", "cert_file", "key_file") if getattr(settings, field) is not None]
    if unused and settings.kind in _NOT_OVER_HTTP:
        raise ConfigurationError(f"{name}: providers of kind {settings.kind!r} do not support {unused[0]}. Remove it.")
    if settings.service and settings.service not in SERVICES:
        raise UnknownNameError("service", settings.service, SERVICES)


class ModelName(NamedTuple):
    """`openai/gpt-4o`, split into its parts."""

    provider: str
    model: str

    def __str__(self) -> str:
        return f"{self.provider}{':' if self.provider in ('python', 'command') else '/'}{self.model}"


def parse_model_name(text: str, providers: Iterable[str]) -> ModelName:
    """Split `provider/model` or `provider:model` at the first `/` or `:`.

    Raises:
        ConfigurationError: There is only a provider.
        UnknownNameError: No provider has that name. The message suggests the closest match.
    """
    known = sorted(providers)
    split = min((at for mark in "/:" if (at := text.find(mark)) >= 0), default=len(text))
    provider, model = text[:split].strip(), text[split + 1 :].strip()
    if provider in known:
        model = model or _DEFAULT_MODELS.get(provider, "")
        if not model:
            raise ConfigurationError(f"The model {text!r} names only a provider. Write {provider}/MODEL.")
        return ModelName(provider, model)
    if split == len(text):
        owners = [f"{name}/{text}" for name in BUILT_IN if current_prices().table.find(name, text)][:1]
        raise UnknownNameError("model", text, owners or [f"{name}/…" for name in known])
    raise UnknownNameError("provider", provider, known)
