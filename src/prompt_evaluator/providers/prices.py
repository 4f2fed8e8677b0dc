"""The cost of calls to models with a known price."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model import Price
from prompt_evaluator.providers.price_table import PriceTable, read_table
from prompt_evaluator.user_data import user_data_folder

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import ProviderSettings, Usage
    from prompt_evaluator.providers.price_table import PriceRow

_NOTHING = Price(input=0, output=0)
_FREE_SERVICES = ("llamacpp", "lmstudio", "ollama", "vllm")
"""Run on a machine of the user's, and charge nothing."""
_FREE_KINDS = ("mock",)


def _now() -> datetime:
    return datetime.now(UTC)


class Prices:
    """What a provider's models cost: as configured, or by the list of its service, or as assumed."""

    def __init__(
        self,
        provider: str,
        configured: ProviderSettings,
        *,
        service: str | None = None,
        assumed: Price | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        """Read nothing yet.

        Args:
            provider: The provider's name.
            configured: Its entry.
            service: The service whose prices it has; by default the entry's, or the one with the provider's name.
            assumed: For models without a known price.
            clock: Now, in UTC: prices change.
        """
        self._service = service or configured.service or provider
        self._settings, self._assumed, self._clock = configured, assumed, clock
        self._is_free = configured.kind in _FREE_KINDS or self._service in _FREE_SERVICES
        self._known: dict[str, Price | tuple[PriceRow, ...] | None] = {}

    def of(self, model: str, when: datetime | None = None, *, input_tokens: float = 0) -> Price | None:
        """The price of a prompt of this size, now or at another time; None if unknown."""
        if model not in self._known:
            self._known[model] = self._configured(model) or self._listed(model) or self._assumed
        found = self._known[model]
        if not isinstance(found, tuple):
            return found
        now = when or self._clock()
        row = next((row for row in reversed(found) if row.applies(now, input_tokens)), found[0])
        return Price(input=row.input, output=row.output, cached=row.cached, cache_write=row.cache_write)

    def cost(self, model: str, usage: Usage) -> float | None:
        """Cost in US dollars, or None if the price or the usage is unknown: unknown is not free.

        What the service says that it charged holds over its list, and a configured price holds over both.
        """
        price = self._configured(model)
        if price is None and usage.stated_cost is not None:
            return usage.stated_cost
        if usage.input_tokens is None or usage.output_tokens is None:
            return None
        price = price or self.of(model, input_tokens=usage.input_tokens)
        return None if price is None else _cost(usage, usage.input_tokens, usage.output_tokens, price)

    def _configured(self, model: str) -> Price | None:
        configured = self._settings.prices
        return configured.get(model) or configured.get(self._settings.base_model.get(model, model))

    def _listed(self, model: str) -> Price | tuple[PriceRow, ...] | None:
        if self._is_free:
            return _NOTHING
        found = current_prices().table.find(self._service, self._settings.base_model.get(model, model))
        return found.rows if found else None


def _cost(usage: Usage, input_tokens: int, output_tokens: int, price: Price) -> float:
    """Tokens that were read from a cache or written to one cost what other input does, unless the price says so."""
    cached = price.input if price.cached is None else price.cached
    written = price.input if price.cache_write is None else price.cache_write
    others = max(0, input_tokens - usage.cached_tokens - usage.cache_write_tokens)
    asked = others * price.input + usage.cached_tokens * cached + usage.cache_write_tokens * written
    return (asked + output_tokens * price.output) / 1_000_000


class CurrentPrices:
    """The table in use, and its hash."""

    def __init__(self, content: bytes) -> None:
        """Raise `ValueError` if the content is not a table."""
        self.table: PriceTable = read_table(content)
        self.hash = f"sha256:{hashlib.sha256(content).hexdigest()}"


def current_prices() -> CurrentPrices:
    """The newer of the table that came with this version and the one that the user has fetched.

    Raises:
        ConfigurationError: What was fetched cannot be read.
    """
    return _current(fetched_file())


def fetched_file() -> Path:
    return user_data_folder() / "prices.json"


@cache
def shipped_prices() -> CurrentPrices:
    return CurrentPrices(files(__package__).joinpath("prices.json").read_bytes())


@cache
def _current(fetched: Path) -> CurrentPrices:
    shipped = shipped_prices()
    try:
        found = CurrentPrices(fetched.read_bytes())
    except FileNotFoundError:
        return shipped
    except (OSError, ValueError) as error:
        advice = "Fetch it again with `prompt-evaluator providers update-prices`, or delete it."
        raise ConfigurationError(f"{fetched}: the table of prices cannot be read: {error}. {advice}") from None
    return max(found, shipped, key=lambda each: each.table.as_of)
