"""A table of list prices: its form, and how it is made from the data of genai-prices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from msgspec import Meta

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime

SOURCE = "https://raw.githubusercontent.com/pydantic/genai-prices/refs/heads/main/prices/new_data/v2/data_slim.json"
"""The current data, in the same form as that of the package."""
LICENSE = "MIT, Copyright (c) Pydantic Services Inc. 2025 to present; see prices-license.txt"
SERVICES = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "aws",
    "deepseek": "deepseek",
    "fireworks": "fireworks",
    "gemini": "google",
    "groq": "groq",
    "mistral": "mistral",
    "openai": "openai",
    "together": "together",
    "vertex": "google",
    "xai": "x-ai",
}
"""Our names of services, and what genai-prices calls those whose prices they have."""
_PREFIXES = re.compile(r"(?:us|eu|apac|global|anthropic|openai)\.|(?:anthropic|google|models|openai)/")
"""What services and gateways put in front of a model's own name."""

_Dollars = Annotated[float, Meta(ge=0, le=1_000_000)]


class PriceRow(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a model costs, per million tokens, if this is the last of its rows that applies."""

    when: Annotated[str, Meta(pattern=r"^(\d{4}-\d\d-\d\d|\d\d:\d\d-\d\d:\d\d)?$")]
    """The day from which on it applies, or the hours of each day (UTC); empty means always."""
    above: Annotated[int, Meta(ge=0)]
    """It applies to prompts of more tokens than this; 0 means to all."""
    input: _Dollars
    output: _Dollars
    cached: _Dollars | None = None
    cache_write: _Dollars | None = None

    def applies(self, now: datetime, input_tokens: float) -> bool:
        if self.above and input_tokens <= self.above:
            return False
        if ":" not in self.when:
            return not self.when or self.when <= f"{now:%Y-%m-%d}"
        start, _, end = self.when.partition("-")
        time = f"{now:%H:%M}"
        return start <= time < end if start <= end else time >= start or time < end


class PricedModel(msgspec.Struct, frozen=True, array_like=True):
    """One or more names of a model, and its prices."""

    names: tuple[Annotated[str, Meta(pattern=r"^[=^$*~]")], ...]
    """Patterns for a name in lower case: `=` equals, `^` starts with, `$` ends with, `*` contains, `~` a regular
    expression. Any may match."""
    rows: tuple[PriceRow, ...]
    """Empty if it is not priced by tokens."""

    def matches(self, name: str) -> bool:
        return any(_matches(pattern, name) for pattern in self.names)


class PriceTable(msgspec.Struct, frozen=True, kw_only=True):
    """List prices of many services."""

    source: str
    """The package and version, or the address."""
    as_of: Annotated[str, Meta(pattern=r"^\d{4}-\d\d-\d\d$")]
    """The day on which the source was current."""
    license: str
    sha256: str | None = None
    """Of the file that was fetched."""
    services: dict[str, tuple[str, ...]]
    """By our name of a service: whose prices it has, in the order in which to look."""
    models: dict[str, tuple[PricedModel, ...]]
    """The first that matches a name counts."""

    def find(self, service: str, model: str) -> PricedModel | None:
        """The model of this name at a service, if it is known there."""
        for name in _names(model.lower()):
            for owner in self.services.get(service, ()):
                for known in self.models[owner]:
                    if known.matches(name):
                        return known
        return None


def _matches(pattern: str, name: str) -> bool:
    text = pattern[1:]
    match pattern[0]:
        case "=":
            return name == text
        case "^":
            return name.startswith(text)
        case "$":
            return name.endswith(text)
        case "*":
            return text in name
        case _:
            return re.search(text, name) is not None


def _names(name: str) -> Iterator[str]:
    """The name, and then without one prefix after the other: some services have prices under the longer name."""
    yield name
    while found := _PREFIXES.match(name):
        name = name[found.end() :]
        yield name


class _Tier(msgspec.Struct):
    start: int
    price: float


class _Tiered(msgspec.Struct):
    base: float
    tiers: list[_Tier]


_Prices = dict[str, float | _Tiered | None]


class _Constraint(msgspec.Struct):
    start_date: str | None = None
    start_time: str = ""
    end_time: str = ""

    @property
    def when(self) -> str:
        return self.start_date or f"{self.start_time[:5]}-{self.end_time[:5]}"


class _Conditional(msgspec.Struct):
    prices: _Prices
    constraint: _Constraint | None = None


class _Model(msgspec.Struct):
    match: dict[str, Any]
    prices: _Prices | list[_Conditional]


class _Provider(msgspec.Struct):
    id: str
    models: list[_Model]
    fallback_model_providers: list[str] | None = None


def table_of(data: Any, *, source: str, as_of: str, sha256: str | None = None) -> PriceTable:
    """Make a table from the providers of genai-prices, as plain values.

    Raises:
        ValueError: They have another form, or none of the services is among them.
    """
    found = {provider.id: provider for provider in msgspec.convert(data, list[_Provider])}
    owners = [owner for owner in dict.fromkeys(SERVICES.values()) if owner in found]
    if not owners:
        raise ValueError("none of the services is in it")
    table = PriceTable(
        source=source,
        as_of=as_of,
        license=LICENSE,
        sha256=sha256,
        services={
            name: (owner, *(other for other in found[owner].fallback_model_providers or () if other in owners))
            for name, owner in SERVICES.items()
            if owner in owners
        },
        models={owner: tuple(map(_priced, found[owner].models)) for owner in owners},
    )
    return read_table(encoded(table))


def read_table(content: bytes) -> PriceTable:
    """Decode a table, and check it. Raises `ValueError`."""
    return msgspec.json.decode(content, type=PriceTable)


def encoded(table: PriceTable) -> bytes:
    """Each model on a line of its own, so that changes can be read."""
    head = msgspec.json.format(msgspec.json.encode({**msgspec.structs.asdict(table), "models": None}), indent=0)
    owners = (f'"{owner}":[\n{_lines(models)}\n]' for owner, models in table.models.items())
    return head[: -len("null}")] + ("{" + ",\n".join(owners) + "}}\n").encode()


def _lines(models: Iterable[PricedModel]) -> str:
    return ",\n".join(msgspec.json.encode((model.names, [*map(_short, model.rows)])).decode() for model in models)


def _short(row: PriceRow) -> list[Any]:
    """Whole numbers without a point, and no nulls at the end."""
    values = [int(value) if isinstance(value, float) and value.is_integer() else value for value in _values(row)]
    while values[-1] is None:
        values.pop()
    return values


def _values(row: PriceRow) -> tuple[Any, ...]:
    return row.when, row.above, row.input, row.output, row.cached, row.cache_write


def _priced(model: _Model) -> PricedModel:
    conditions = model.prices if isinstance(model.prices, list) else [_Conditional(model.prices)]
    rows = [row for at, each in enumerate(conditions) for row in _rows(each, first=not at)]
    return PricedModel(tuple(_patterns(model.match)), tuple(rows))


def _rows(conditional: _Conditional, *, first: bool) -> Iterator[PriceRow]:
    """A row for each size of prompt. Where no condition holds, the first price applies."""
    kinds = ("input_mtok", "output_mtok", "cache_read_mtok", "cache_write_mtok")
    prices = [conditional.prices.get(kind) for kind in kinds]
    if prices[0] is None or prices[1] is None:
        return
    when = conditional.constraint.when if conditional.constraint and not first else ""
    for above in sorted({0, *(tier.start for price in prices for tier in _tiers(price))}):
        amounts: list[Any] = [_amount(price, above) for price in prices]
        yield PriceRow(when, above, *amounts)


def _tiers(price: float | _Tiered | None) -> list[_Tier]:
    return price.tiers if isinstance(price, _Tiered) else []


def _amount(price: float | _Tiered | None, above: int) -> float | None:
    if not isinstance(price, _Tiered):
        return price
    reached = [tier for tier in price.tiers if 0 < tier.start <= above]
    return max(reached, key=lambda tier: tier.start).price if reached else price.base


_MARKS = {"equals": "=", "starts_with": "^", "ends_with": "$", "contains": "*"}


def _patterns(clause: dict[str, Any]) -> Iterator[str]:
    ((kind, value),) = clause.items()
    if kind == "or":
        for part in value:
            yield from _patterns(part)
    elif kind in _MARKS:
        yield f"{_MARKS[kind]}{value.lower()}"
    else:
        yield f"~{_expression(clause)}"


def _expression(clause: dict[str, Any]) -> str:
    """The regular expression that matches the same names."""
    ((kind, value),) = clause.items()
    if kind == "and":
        return "^" + "".join(f"(?=.*(?:{_expression(part)}))" for part in value)
    if kind == "or":
        return "|".join(f"(?:{_expression(part)})" for part in value)
    if kind == "regex":
        return str(re.compile(value).pattern)
    if kind not in _MARKS:
        raise ValueError(f"the match {kind!r} is not known")
    start, end = "^" * (kind in ("equals", "starts_with")), "$" * (kind in ("equals", "ends_with"))
    return f"{start}{re.escape(value.lower())}{end}"
