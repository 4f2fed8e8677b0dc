"""Writes the table of list prices that the product ships, from the installed package genai-prices.

With `--check`, writes nothing and fails if the table is older than a month or not that of the installed package.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

from genai_prices.data import providers
from genai_prices.types import ModelPrice

from prompt_evaluator.providers.price_table import PriceTable, encoded, read_table, table_of

FILE = Path(__file__).parents[1] / "src/prompt_evaluator/providers/prices.json"
NOTICE = FILE.with_name("prices-license.txt")
OLDEST_DAYS = 30


def installed_prices(as_of: date) -> PriceTable:
    """The table of the installed package, which is the newest on that day."""
    package = distribution("genai-prices")
    return table_of(plain(providers), source=f"genai-prices {package.version}", as_of=as_of.isoformat())


def plain(value: Any) -> Any:
    """The package's objects as its JSON has them."""
    if isinstance(value, ModelPrice):
        return {name: plain(price) for name, price in vars(value).items()}
    if dataclasses.is_dataclass(value):
        fields = ((field.name.rstrip("_"), getattr(value, field.name)) for field in dataclasses.fields(value))
        return {name: plain(part) for name, part in fields if part is not None}
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, (date, time)):
        return value.isoformat()
    return float(value) if isinstance(value, Decimal) else value


def problem(shipped: PriceTable, today: date) -> str | None:
    """Why a release with this table has to wait; None if it need not."""
    age = (today - date.fromisoformat(shipped.as_of)).days
    if age > OLDEST_DAYS:
        return f"The table of prices is {age} days old. Install the newest genai-prices, and run `make prices`."
    if shipped != installed_prices(date.fromisoformat(shipped.as_of)):
        return "The table of prices is not that of the installed genai-prices. Run `make prices`."
    return None


def notice() -> str:
    """The license of the package, which is to go with its data."""
    files = distribution("genai-prices").files or ()
    (license_file,) = (file for file in files if file.name == "LICENSE")
    head = "The prices in prices.json are those of genai-prices, https://github.com/pydantic/genai-prices:\n\n"
    return head + license_file.read_text(encoding="utf-8")


def main() -> None:
    """Write the files, or check the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    today = datetime.now(UTC).date()
    if parser.parse_args().check:
        sys.exit(problem(read_table(FILE.read_bytes()), today))
    table = installed_prices(today)
    FILE.write_bytes(encoded(table))
    NOTICE.write_text(notice(), encoding="utf-8")
    print(f"Wrote {FILE.name}: {sum(map(len, table.models.values()))} models from {table.source}.")


if __name__ == "__main__":
    main()
