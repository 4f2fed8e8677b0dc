"""Lists the available providers, and tests whether one answers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.models import Models
from prompt_evaluator.app.settings import masked
from prompt_evaluator.calls.governor import DEFAULT_CONCURRENCY
from prompt_evaluator.errors import UnreachableError
from prompt_evaluator.model import Answer, Limits, Message, Request
from prompt_evaluator.providers.keys import Key, shown_proxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model import ProviderSettings


_LONGEST_WAIT = 60.0
"""Most seconds to wait for one short answer."""


class ProviderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a provider without calling it. Never contains a key's value."""

    name: str
    kind: str
    key: str
    """The variable or file that the key comes from; `none needed` without one."""
    key_present: bool | None
    """None if no key is needed."""
    address: str | None
    """Where its calls go, without credentials."""
    address_source: str | None
    """The variable that the address comes from; None if it is configured or built in."""
    proxy: str | None
    """The proxy that calls go through and where it is set, without credentials."""
    limits: Limits


def list_providers(configured: Mapping[str, ProviderSettings] | None = None) -> list[ProviderStatus]:
    """Return every provider, built-in or configured."""
    return [_status(name, settings) for name, settings in sorted(Models(configured).settings.items())]


def calls_at_once(limits: Limits) -> int:
    """Return how many calls a provider with these limits may have in flight."""
    return limits.max_concurrency or DEFAULT_CONCURRENCY


def asked_for(model: str, configured: Mapping[str, ProviderSettings] | None = None) -> str:
    """Describe what `try_provider` calls, such as `openai/gpt-4o-mini at https://api.openai.com/v1`.

    Raises:
        ConfigurationError: It cannot be called: there is no such model, or no key.
    """
    models = Models(configured)
    name = models.name(model)
    models.check(name)
    status = _status(name.provider, models.settings[name.provider])
    return f"{name.provider}/{name.model} {f'at {status.address}' if status.address else 'on this machine'}"


async def try_provider(model: str, configured: Mapping[str, ProviderSettings] | None = None) -> Answer:
    """Make one short call, in one try, and return the answer.

    Raises:
        ProviderError: The service refused, could not be reached, or did not answer within a minute.
    """
    models = Models(configured)
    name = models.name(model)
    settings = models.settings[name.provider]
    limits = msgspec.structs.replace(
        settings.limits, max_tries=1, try_timeout=min(settings.limits.try_timeout, _LONGEST_WAIT)
    )
    async with Models({**models.settings, name.provider: msgspec.structs.replace(settings, limits=limits)}) as models:
        request = Request(
            model=name.model, messages=(Message("user", "Reply with the one word: ready"),), max_tokens=16
        )
        try:
            return await models.client(name.provider).complete(request)
        except UnreachableError as error:
            message = str(error).removeprefix(f"{error.provider}: ")
            raise type(error)(f"{message} {error.advice}".rstrip(), provider=error.provider) from None


def _status(name: str, settings: ProviderSettings) -> ProviderStatus:
    key = Key(name, settings)
    variable = settings.base_url_env
    from_variable = os.environ.get(variable) if variable else None
    return ProviderStatus(
        name=name,
        kind=settings.kind,
        key=key.source or "none needed",
        key_present=key.present if key.source else None,
        address=masked(from_variable or settings.base_url) or (f"${variable}" if variable else None),
        address_source=variable if from_variable else None,
        proxy=shown_proxy(name, settings),
        limits=settings.limits,
    )
