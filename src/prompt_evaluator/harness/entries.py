"""Reads the configurations under test from `configs/providers.json`; errors name the file, the line and the entry."""

from __future__ import annotations

import hashlib
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from prompt_evaluator.errors import InputError
from prompt_evaluator.model.bounds import RETRIES
from prompt_evaluator.model.characters import is_unseen
from prompt_evaluator.model.harness import ConfigEntry
from prompt_evaluator.model.secret import is_secret_name
from prompt_evaluator.syntax.jsontext import parse_json
from prompt_evaluator.syntax.source import read_bytes
from prompt_evaluator.syntax.wording import described, text_instead

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_TEXTS = ("provider", "router", "model", "target", "label")
_OWN = {"id", "retries", *_TEXTS}
_LONGEST_ID = 200
_EXAMPLE = 'Write a list such as [{"id": "baseline", "retries": 2}].'
_AFFIXES = ("max", "num", "numberof", "count", "limit")
_CLOSE = 0.8
"""`retires` and `tries` are this similar to `retries`; `retrieval` is not."""


class _Place(NamedTuple):
    """An entry's place in its file."""

    path: Path
    name: str
    line: int | None
    lines: Mapping[str | int, int]

    def problem(self, what: str, advice: str, field: str | None = None) -> InputError:
        line = self.lines.get(field, self.line) if field else self.line
        return InputError(f"{self.name}: {what}", path=self.path, line=line, advice=advice, field=field)


def read_entries(path: Path) -> tuple[ConfigEntry, ...]:
    """Read all configurations, in file order.

    Raises:
        InputError: The file cannot be read, is not a list of objects, or an entry is wrong.
    """
    document = parse_json(read_bytes(path), path)
    if not isinstance(document.root, list):
        what = f"The file contains {described(document.root)}, not a list of configurations"
        raise InputError(what, path=path, line=1, advice=_EXAMPLE)
    if not document.root:
        raise InputError("The list has no configuration", path=path, line=1, advice=_EXAMPLE)
    lines = document.places[id(document.root)]
    found: dict[str, ConfigEntry] = {}
    at: dict[str, int | None] = {}
    for index, written in enumerate(document.root):
        place = _Place(path, f"The entry at index {index}", lines.get(index), document.places.get(id(written), {}))
        entry = _entry(written, place)
        if entry.id in found:
            what = f"The id {entry.id!r} is used twice"
            note = f"first at line {at[entry.id]}"
            line = place.lines.get("id", place.line)
            advice = "Give each entry its own id."
            raise InputError(what, path=path, line=line, field="id", note=note, advice=advice)
        found[entry.id], at[entry.id] = entry, place.line
    return tuple(found.values())


def _entry(written: Any, place: _Place) -> ConfigEntry:
    if not isinstance(written, dict):
        raise place.problem(f"it is {described(written)}, not an object", _EXAMPLE)
    entry_id = _id(written, place)
    place = place._replace(name=f"The entry {entry_id!r}")
    for name in written:
        _check_name(name, place)
    _check_secrets(written, place)
    texts = {name: _text(name, written, place) for name in _TEXTS}
    return ConfigEntry(
        id=entry_id,
        provider=texts["provider"],
        router=texts["router"],
        model=texts["model"],
        target=texts["target"],
        retries=_retries(written.get("retries"), place),
        params={name: value for name, value in written.items() if name not in _OWN and value is not None},
        entry=written,
        hash=hashlib.sha256(msgspec.json.encode(written, order="sorted")).hexdigest(),
    )


def _id(written: dict[str, Any], place: _Place) -> str:
    value = written.get("id")
    if value is None:
        raise place.problem("it has no `id`", 'Give it a unique id, such as "baseline".')
    if not isinstance(value, str):
        raise place.problem(f"its `id` is {described(value)}, not a text", f"{text_instead(value)}.", "id")
    short = "Give it a short, readable, unique id."
    if not value.strip():
        raise place.problem(f"its `id` is {described(value)}", short, "id")
    if value != value.strip():
        raise place.problem(f"its `id` {value[:40]!r} begins or ends with a space", "Remove the space.", "id")
    if len(value) > _LONGEST_ID:
        what = f"its `id` has {len(value):,} characters; at most {_LONGEST_ID} are allowed"
        raise place.problem(what, short, "id")
    if any(map(is_unseen, value)):
        raise place.problem(f"its `id` {value[:40]!r} contains a character that cannot be seen", short, "id")
    return value


def _check_name(name: str, place: _Place) -> None:
    """Refuse a misspelt `retries`: it would be taken for a parameter, and no answer would be requested again."""
    if name in _OWN:
        return
    bare = "".join(character for character in name.lower() if character.isalnum())
    for affix in _AFFIXES:
        bare = bare.removeprefix(affix).removesuffix(affix)
    is_close = SequenceMatcher(None, bare, "retries").ratio() >= _CLOSE
    if is_close or bare.removesuffix("s") in ("retry", "attempt"):
        less = ", one less than the number of attempts" if "attempt" in bare else ""
        raise place.problem(f"there is no setting {name[:40]!r}", f"Write `retries`{less}.", name)


def _check_secrets(written: dict[str, Any], place: _Place) -> None:
    """Refuse keys and passwords: entries are stored with the results and sent to the router."""
    for name, value in written.items():
        if secret := next((each for each in (name, *_names(value)) if is_secret_name(each)), None):
            what = f"{secret[:40]!r} looks like a secret, but entries are stored with the results"
            advice = "Put the router's key in EVAL_ROUTER_API_KEY, and configure those of providers under `providers:`."
            raise place.problem(what, advice, name)


def _names(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _names(item)


def _text(name: str, written: dict[str, Any], place: _Place) -> str | None:
    value = written.get(name)
    if value is None:
        return None
    if not isinstance(value, str):
        raise place.problem(f"`{name}` is {described(value)}, not a text", f"{text_instead(value)}.", name)
    if not value.strip() and name == "target":
        raise place.problem("`target` is empty", "Write PROVIDER/MODEL, such as openai/gpt-4o, or leave it out.", name)
    return value


def _retries(value: Any, place: _Place) -> int:
    if value is None:
        return 0
    try:
        return int(RETRIES.read(value))
    except ValueError:
        what = f"`retries` has to be {RETRIES.words}, not {described(value)}"
        raise place.problem(what, "Correct it or leave it out.", "retries") from None
