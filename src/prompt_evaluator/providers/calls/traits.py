"""Optional attributes of a provider. Most providers need none of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prompt_evaluator.model import Secret
    from prompt_evaluator.ports import Provider

OnLimits = Callable[[float | None, float | None], None]
"""Called with the requests and tokens that a service allows per minute: None if not stated, infinity if it has no limit
per minute."""


class Traits(NamedTuple):
    """A provider's attributes of these names, or their defaults."""

    endpoint: str = ""
    """Where its calls go. Entries with the same endpoint and key share limits. If empty, the entry's name is used."""
    key: Secret | None = None
    """The API key of its calls."""
    max_tries: int | None = None
    """Most tries of a call, even if the configuration allows more."""
    trusted: bool = False
    """Whether the provider itself respects `timeout` and returns only storable answers, so that it need not be wrapped
    in `Guarded`."""

    @classmethod
    def of(cls, provider: Provider) -> Traits:
        return cls(**{name: getattr(provider, name) for name in cls._fields if hasattr(provider, name)})


def tell_limits(provider: Provider, on_limits: OnLimits) -> None:
    """Set the provider's `on_limits`, if it has that attribute; it calls it with the limits stated in replies."""
    if hasattr(provider, "on_limits"):
        provider.on_limits = on_limits
