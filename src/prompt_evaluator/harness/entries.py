"""Reads the configurations under test from `configs/providers.json`; errors name the file, the line and the entry."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from prompt_evaluator.errors import InputError
from prompt_evaluator.model.bounds import RETRIES
from prompt_evaluator.model.characters import is_unseen
from prompt_evaluator.model.harness import ConfigEntry
from prompt_evaluator.model.secret import is_secret_name
from prompt_evaluator.syntax.decoding import mistake
from prompt_evaluator.syntax.jsontext import parse_json
from prompt_evaluator.syntax.source import read_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_EXAMPLE = 'Write a list such as [{"id": "baseline", "retries": 2}].'


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What an entry sets itself; everything else in it is a parameter."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
    label: str | None = None
    provider: str | None = None
    router: str | None = None
    model: str | None = None
    target: Annotated[str, msgspec.Meta(min_length=1)] | None = None
    retries: Annotated[int, RETRIES.meta] | None = None


def read_entries(path: Path) -> tuple[ConfigEntry, ...]:
    """Read all configurations, in file order.

    Raises:
        InputError: The file cannot be read, is not a list of objects, or an entry is wrong.
    """
    document = parse_json(read_bytes(path), path)
    if not isinstance(document.root, list) or not document.root:
        raise InputError("The file is not a list of configurations", path=path, line=1, advice=_EXAMPLE)
    lines = document.places[id(document.root)]
    found: dict[str, ConfigEntry] = {}
    for at, written in enumerate(document.root):
        try:
            entry = _entry(written)
        except msgspec.ValidationError as error:
            what = mistake(str(error), f"Entry {at + 1:,}")
            raise InputError(what, path=path, line=lines.get(at), advice=_EXAMPLE) from None
        if entry.id != entry.id.strip() or any(map(is_unseen, entry.id)):
            what = f"Entry {at + 1:,}: the id {entry.id!r} has spaces around it, or characters that cannot be seen"
            raise InputError(what, path=path, line=lines.get(at), advice="Give it a short, readable, unique id.")
        if entry.id in found:
            what = f"Entry {at + 1:,} has the id {entry.id!r} of an earlier one"
            raise InputError(what, path=path, line=lines.get(at), advice="Give each entry its own id.")
        if secret := next((name for name in _names(written) if is_secret_name(name)), None):
            what = f"Entry {at + 1:,}: {secret[:40]!r} looks like a secret, but entries are stored with the results"
            advice = "Put the router's key in EVAL_ROUTER_API_KEY, and configure those of providers under `providers:`."
            raise InputError(what, path=path, line=lines.get(at), advice=advice)
        found[entry.id] = entry
    return tuple(found.values())


def _entry(written: Any) -> ConfigEntry:
    own = msgspec.convert(written, _Entry)
    return ConfigEntry(
        id=own.id,
        provider=own.provider,
        router=own.router,
        model=own.model,
        target=own.target,
        retries=own.retries or 0,
        params={
            name: value for name, value in written.items() if name not in _Entry.__struct_fields__ and value is not None
        },
        entry=written,
        hash=hashlib.sha256(msgspec.json.encode(written, order="sorted")).hexdigest(),
    )


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names(item)
