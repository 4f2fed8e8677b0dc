"""What a provider may say about itself beside answering. Each is an attribute with a default: most need none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prompt_evaluator.model import Secret
    from prompt_evaluator.ports import Provider

OnLimits = Callable[[float | None, float | None], None]
"""Takes the requests and the tokens that a service allows a minute: None where it does not say, infinite where it has
no limit for a minute."""


class Traits(NamedTuple):
    """The attributes by their names. Where there is none, the default counts."""

    endpoint: str = ""
    """Where its calls go. Entries with one endpoint and one key share limits; empty: the entry's own name."""
    key: Secret | None = None
    """The key that its calls are made with."""
    max_tries: int | None = None
    """The most tries of a call, whatever the configuration allows."""
    trusted: bool = False
    """Whether it keeps to `timeout`, masks secrets and returns only answers that can be stored, by itself. Then no time
    is spent on checking that."""

    @classmethod
    def of(cls, provider: Provider) -> Traits:
        return cls(**{name: getattr(provider, name) for name in cls._fields if hasattr(provider, name)})


def tell_limits(provider: Provider, on_limits: OnLimits) -> None:
    """Give a provider that has an attribute `on_limits` somebody to tell the limits of its replies to."""
    if hasattr(provider, "on_limits"):
        provider.on_limits = on_limits
