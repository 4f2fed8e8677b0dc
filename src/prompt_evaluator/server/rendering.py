"""Fills templates."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import quote

import jinja2
import msgspec

from prompt_evaluator.model.case_filter import toggled
from prompt_evaluator.model.characters import visible
from prompt_evaluator.model.wording import decimal, many, money, percent, signed
from prompt_evaluator.version import __version__

_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_RECENTLY = 45


def render(template: str, values: dict[str, Any]) -> str:
    """A page; every value in it is escaped."""
    return _environment().get_template(template).render(values)


@cache
def asset_versions() -> dict[str, str]:
    """A hash of the content of each asset, by name. Modules import each other by name, so they share one."""
    found = {item.name: item.read_bytes() for item in files("prompt_evaluator.server").joinpath("assets").iterdir()}
    digest = hashlib.sha256(b"".join(found[name] for name in sorted(found))).hexdigest()[:12]
    return dict.fromkeys(found, digest)


@cache
def _environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("prompt_evaluator.server", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.globals |= {"version": __version__, "asset": _asset}
    made.filters |= {
        "ago": _ago,
        "capitalize_first": lambda text: text[:1].upper() + text[1:],
        "cost": _cost,
        "decimal": decimal,
        "duration": _duration,
        "filter_text": lambda word: toggled("", word),
        "json": lambda value: msgspec.json.encode(value).decode(),
        "many": many,
        "part": lambda text: quote(text, safe=""),
        "percent": percent,
        "seen": visible,
        "signed": signed,
    }
    return made


def _asset(name: str) -> str:
    """The address of an asset."""
    return f"/assets/{asset_versions()[name]}/{name}"


def _ago(moment: str) -> str:
    """A time in words that a person says: `2 min ago`."""
    seconds = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds()
    for span, below, word in ((1, _MINUTE, "s"), (_MINUTE, _HOUR, "min"), (_HOUR, _DAY, "h")):
        if seconds < below:
            return "just now" if seconds < _RECENTLY and word == "s" else f"{int(seconds // span)} {word} ago"
    days = int(seconds // _DAY)
    return "yesterday" if days == 1 else f"{days} days ago"


def _cost(dollars: float | None) -> str:
    return "unknown" if dollars is None else money(dollars)


def _duration(milliseconds: float | None) -> str:
    """Minutes and seconds, or hours as well."""
    if milliseconds is None:
        return ""
    minutes, seconds = divmod(round(milliseconds / 1_000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
