"""Which providers can be used, and does this one answer?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.models import Models
from prompt_evaluator.app.settings import masked
from prompt_evaluator.model import Answer, Limits, Message, Request
from prompt_evaluator.providers.calls.governor import DEFAULT_CONCURRENCY
from prompt_evaluator.providers.keys import Key, shown_proxy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model import ProviderSettings


class ProviderStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to know about a provider without calling it. Never a key's value."""

    name: str
    kind: str
    key: str
    """The variable or file the key comes from, or what takes its place."""
    key_present: bool | None
    """None where no key is needed."""
    address: str | None
    proxy: str | None
    """The proxy that calls go through, and who names it, without its login."""
    limits: Limits


def list_providers(configured: Mapping[str, ProviderSettings] | None = None) -> list[ProviderStatus]:
    """Every provider, built in or configured."""
    return [_status(name, settings) for name, settings in sorted(Models(configured).settings.items())]


def calls_at_once(limits: Limits) -> int:
    """How many calls a provider with these limits may have in flight."""
    return limits.max_concurrency or DEFAULT_CONCURRENCY


async def try_provider(model: str, configured: Mapping[str, ProviderSettings] | None = None) -> Answer:
    """Make one short call and return what came back."""
    async with Models(configured) as models:
        name = models.name(model)
        request = Request(
            model=name.model, messages=(Message("user", "Reply with the one word: ready"),), max_tokens=16
        )
        return await models.client(name.provider).complete(request)


def _status(name: str, settings: ProviderSettings) -> ProviderStatus:
    key = Key(name, settings)
    return ProviderStatus(
        name=name,
        kind=settings.kind,
        key=key.source or "none needed",
        key_present=key.present if key.source else None,
        address=masked(settings.base_url) or (f"${settings.base_url_env}" if settings.base_url_env else None),
        proxy=shown_proxy(name, settings),
        limits=settings.limits,
    )
