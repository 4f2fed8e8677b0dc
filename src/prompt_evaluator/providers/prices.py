"""What a call costs, where that is known."""

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
    """The configured prices of a provider over the table that ships."""

    def __init__(self, provider: str, configured: Mapping[str, Price]) -> None:
        self._provider, self._configured = provider, configured

    def of(self, model: str) -> Price | None:
        return self._configured.get(model) or shipped_prices().prices.get(f"{self._provider}/{model}")

    def cost(self, model: str, usage: Usage) -> float | None:
        """US dollars; None when the price or the usage is not known, because unknown is not free."""
        price = self.of(model)
        if price is None or usage.input_tokens is None or usage.output_tokens is None:
            return None
        return (usage.input_tokens * price.input + usage.output_tokens * price.output) / 1_000_000


@cache
def shipped_prices() -> _Table:
    """Public list prices on the day the table names; configuration overrides them."""
    return msgspec.json.decode(files(__package__).joinpath("prices.json").read_bytes(), type=_Table)
