"""Reads the query and the body of a request into the structs that a route declares."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl

import msgspec

from prompt_evaluator.hints import nearest
from prompt_evaluator.server.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_BOUNDS = {"<=": "of at most", ">=": "of at least", "<": "below", ">": "above"}
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
    return _converted(found, kind, strict=False)


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
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refusal(400, f"The body is not JSON: {str(error).rstrip('.')}.") from None
    if not isinstance(value, dict):
        raise Refusal(422, "The body has to be a JSON object.")
    return _converted(value, kind, strict=True)


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


def _converted(value: Mapping[str, Any], kind: type, *, strict: bool) -> Any:
    try:
        return msgspec.convert(value, kind, strict=strict)
    except msgspec.ValidationError as error:
        raise _refused(str(error), kind) from None


def _refused(message: str, kind: type) -> Refusal:
    place = _PLACE.search(message)
    field = place[1] if place else None
    what = message[: place.start()] if place else message
    names = _fields(kind).names
    if unknown := _UNKNOWN.search(what):
        near = nearest(unknown[1], names)
        hint = f" Did you mean {near!r}?" if near else f" Known: {', '.join(names)}."
        return Refusal(422, f"There is no field {unknown[1][:100]!r}.{hint}", unknown[1][:100])
    if missing := _MISSING.search(what):
        return Refusal(422, f"The field {missing[1]!r} is missing.", missing[1])
    subject = field or "The request"
    return Refusal(422, f"{subject} has to be {_words(what)}.", field)


def _words(what: str) -> str:
    """What was expected, in words: `Expected `int | null`, got `str`` becomes "a whole number or null, not a text"."""
    expected, _, found = what.replace("`", "").removeprefix("Expected ").rstrip(".").partition(", got ")
    wanted = " or ".join(_name(part) for part in expected.split(" | "))
    if expected.startswith("Invalid"):
        return f"one of the allowed values ({expected[:1].lower()}{expected[1:]})"
    return f"{wanted}, not {_NAMES.get(found, found)}" if found else wanted


def _name(part: str) -> str:
    """`int <= 500` becomes "a whole number of at most 500"."""
    kind, _, bound = part.partition(" ")
    sign, _, limit = bound.partition(" ")
    return f"{_NAMES.get(kind, kind)} {_BOUNDS[sign]} {limit}" if sign in _BOUNDS else _NAMES.get(part, part)
