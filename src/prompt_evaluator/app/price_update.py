"""Fetches the current list prices, if somebody asks for it, for all commands of this user."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from http.client import HTTPException
from typing import TYPE_CHECKING, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec

from prompt_evaluator.errors import ConfigurationError, ProviderError
from prompt_evaluator.providers.price_table import SOURCE, encoded, table_of
from prompt_evaluator.providers.prices import current_prices, fetched_file, shipped_prices
from prompt_evaluator.user_data import replace_file
from prompt_evaluator.version import __version__

if TYPE_CHECKING:
    from datetime import date
    from pathlib import Path

    from prompt_evaluator.providers.price_table import PricedModel, PriceTable

DEFAULT_ADDRESS = SOURCE
_SECONDS = 30.0
_LARGEST = 32 * 1024 * 1024


class PriceUpdate(NamedTuple):
    """What changed."""

    models: int
    as_of: str
    before: str
    """The date of the table that was in use."""
    new: int
    changed: int
    gone: int
    file: Path


def update_prices(today: date, address: str) -> PriceUpdate:
    """Fetch the data of genai-prices, and use it from now on. If that fails, the prices stay as they are.

    Raises:
        ConfigurationError: The address is not one, what is there is something else, or it cannot be kept.
        ProviderError: Nothing could be fetched.
    """
    if not address.startswith(("https://", "http://")):
        raise ConfigurationError(f"{address}: not a web address. Write https://…")
    content = _fetched(address)
    try:
        table = table_of(
            msgspec.json.decode(content),
            source=address,
            as_of=today.isoformat(),
            sha256=hashlib.sha256(content).hexdigest(),
        )
    except (ValueError, RecursionError) as error:
        what = "what is there is not data of genai-prices in its second form (v2)"
        raise ConfigurationError(f"{address}: {what}: {error}. The prices stay as they are.") from None
    before = shipped_prices().table
    with suppress(ConfigurationError):  # a table that cannot be read is replaced
        before = current_prices().table
    file = fetched_file()
    try:
        replace_file(file, encoded(table))
    except OSError as error:
        raise ConfigurationError(f"{file}: the prices cannot be kept: {error.strerror}.") from None
    return _difference(before, table, file)


def _fetched(address: str) -> bytes:
    request = Request(address, headers={"User-Agent": f"prompt-evaluator/{__version__}"})  # noqa: S310 - see above
    try:
        with urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - see above
            content: bytes = answer.read(_LARGEST + 1)
    except HTTPError as error:
        raise _failed(address, f"it answered with status {error.code}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise _failed(address, str(getattr(error, "reason", None) or error)) from None
    if len(content) > _LARGEST:
        raise _failed(address, "the file is too large")
    return content


def _failed(address: str, why: str) -> ProviderError:
    return ProviderError(f"{address}: cannot be fetched: {why}. The prices stay as they are.", provider="prices")


def _difference(before: PriceTable, after: PriceTable, file: Path) -> PriceUpdate:
    old, new = _models(before), _models(after)
    return PriceUpdate(
        models=len(new),
        as_of=after.as_of,
        before=before.as_of,
        new=len(new.keys() - old.keys()),
        changed=sum(old[key].rows != new[key].rows for key in old.keys() & new.keys()),
        gone=len(old.keys() - new.keys()),
        file=file,
    )


def _models(table: PriceTable) -> dict[tuple[str, tuple[str, ...]], PricedModel]:
    return {(owner, model.names): model for owner, models in table.models.items() for model in models}
