"""Reads the query and the body of a request into the structs that a route declares."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from prompt_evaluator.model.bounds import bounded_fields
from prompt_evaluator.server.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.bounds import Bound

_MOST_PARAMETERS = 100
_PLACE = re.compile(r" - at `\$\.?([^`]*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_NAMES = {
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_LENGTH = re.compile(r"(str|array|object) of length (<=|>=) ([0-9]+)")
_SIGNS = {"<=": "most", ">=": "least"}
_UNITS = {"str": "character", "array": "item", "object": "field"}
_MISSING = re.compile(r"Object missing required field `(.*)`")


def read_query(kind: type | None, text: bytes) -> Any:
    """The parameters after the question mark, as the route declares them.

    Raises:
        Refusal: One is unknown, given twice, or not allowed.
    """
    try:
        pairs = parse_qsl(
            text.decode("ascii"),
            keep_blank_values=True,
            strict_parsing=bool(text),
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError:
        raise Refusal(422, "The query cannot be read: write NAME=VALUE&NAME=VALUE, percent-encoded UTF-8.") from None
    if kind is None:
        if pairs:
            raise Refusal(
                422, f"There are no parameters here, so {pairs[0][0][:100]!r} means nothing.", pairs[0][0][:100]
            )
        return None
    known = _fields(kind)
    found: dict[str, Any] = {}
    for name, value in pairs:
        if not value and name in known.names:  # a field of a form that was left empty
            continue
        if name in known.lists:
            found.setdefault(name, []).append(value)
        elif name in found:
            raise Refusal(422, f"{name} is given twice. Give it once.", name)
        else:
            found[name] = value
    return _read(lambda: msgspec.convert(found, kind, strict=False), kind)


def read_body(kind: type | None, body: bytes) -> Any:
    """The body, as the route declares it.

    Raises:
        Refusal: It is not JSON, or has a field that is unknown, missing or not allowed.
    """
    if kind is None:
        if body.strip():
            raise Refusal(400, "This takes no body. Send none.")
        return None
    if not body:
        raise Refusal(400, "This needs a body: a JSON object.")
    try:
        value = msgspec.json.decode(body)
    except msgspec.ValidationError:  # a number like 1e999: only decoding by type says in which field
        return _read(lambda: msgspec.json.decode(body, type=kind), kind)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(400, f"The body is not JSON: {str(error).rstrip('.')}.") from None
    return _read(lambda: msgspec.convert(value, kind), kind)


class _Fields(NamedTuple):
    names: tuple[str, ...]
    lists: frozenset[str]
    """Those that may be given more than once."""


@cache
def _fields(kind: type) -> _Fields:
    """The fields of a struct. Finding them takes as long as everything else that is done with a small request."""
    fields = msgspec.structs.fields(kind)
    lists = frozenset(field.encode_name for field in fields if field.default == ())
    return _Fields(tuple(field.encode_name for field in fields), lists)


def _read(decode: Callable[[], Any], kind: type) -> Any:
    try:
        return decode()
    except msgspec.ValidationError as error:
        raise _refused(str(error), kind) from None


def _refused(message: str, kind: type) -> Refusal:
    place = _PLACE.search(message)
    field = place[1] if place else None
    what = message[: place.start()] if place else message
    names = _fields(kind).names
    if unknown := _UNKNOWN.search(what):
        known = ", ".join(names)
        return Refusal(422, f"There is no field {unknown[1][:100]!r}. Known: {known}.", unknown[1][:100])
    if missing := _MISSING.search(what):
        return Refusal(422, f"The field {missing[1]!r} is missing.", missing[1])
    if field is None:
        return Refusal(422, "The body has to be a JSON object.")
    bounded = bounded_fields(kind).get(re.split(r"[.\[]", field)[0])
    return Refusal(422, f"{field} has to be {_words(what, bounded.bound if bounded else None)}.", field)


def _words(what: str, bound: Bound | None) -> str:
    """What was expected, in words: `Expected `str | null`, got `int`` becomes "a text or null, not a whole number"."""
    expected, _, found = what.replace("`", "").removeprefix("Expected ").rstrip(".").partition(", got ")
    wanted = bound.words if bound else " or ".join(_name(part) for part in expected.split(" | "))
    if expected.startswith("Invalid"):
        return f"one of the allowed values ({expected[:1].lower()}{expected[1:]})"
    return f"{wanted}, not {_NAMES.get(found, found)}" if found else wanted


def _name(part: str) -> str:
    """`str of length <= 300` becomes "a text of at most 300 characters"."""
    if not (found := _LENGTH.fullmatch(part)):
        return _NAMES.get(part, part)
    kind, sign, limit = found[1], found[2], int(found[3])
    return f"{_NAMES[kind]} of at {_SIGNS[sign]} {limit:,} {_UNITS[kind]}{'s' if limit != 1 else ''}"
