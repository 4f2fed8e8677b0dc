"""The cost of calls to models with a known price."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model import Price

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.model import Usage


class _Table(msgspec.Struct):
    as_of: str
    prices: dict[str, Price]


class Prices:
    """A provider's prices: configured ones override the built-in table."""

    def __init__(self, provider: str, configured: Mapping[str, Price]) -> None:
        self._provider, self._configured = provider, configured
        self._known: dict[str, Price | None] = {}

    def of(self, model: str) -> Price | None:
        try:
            return self._known[model]
        except KeyError:
            price = self._configured.get(model) or shipped_prices().prices.get(f"{self._provider}/{model}")
            self._known[model] = price
            return price

    def cost(self, model: str, usage: Usage) -> float | None:
        """Cost in US dollars, or None if the price or the usage is unknown: unknown is not free."""
        price = self.of(model)
        if price is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        return (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1_000_000


@cache
def shipped_prices() -> _Table:
    """Public list prices as of the date in the table."""
    return msgspec.json.decode(files(__package__).joinpath("prices.json").read_bytes(), type=_Table)
