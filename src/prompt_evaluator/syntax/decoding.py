"""JSON to typed values, and a sentence for everything that can be wrong with it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

import msgspec

from prompt_evaluator.errors import InputError
from prompt_evaluator.model.wording import many
from prompt_evaluator.syntax.jsontext import parse_json
from prompt_evaluator.syntax.source import BOM, check_text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_Value = TypeVar("_Value")
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_EXPLAINED_BYTES = 5_000_000
"""The exact parser, which names the line, takes a second for so many; of larger files only the byte is named."""
_BYTE = re.compile(r"\(byte (\d+)\)")
_PROBLEM = re.compile(r"Expected `([^`]+)`(?:, got `([^`]+)`)?")
_PLACE = re.compile(r"at `\$([^`]*)`")
_LIMIT = re.compile(r"Expected `\w+` (of length )?(<=|>=) (\S+)")
_MISSING = re.compile(r"missing required field `([^`]+)`")
_KINDS = {"str": "a text", "bool": "true or false", "array": "a list", "object": "an object", "null": "null"}
_NUMBERS = {"int": "a whole number", "float": "a number"}


def decoded(decode: Callable[[bytes], _Value], data: bytes, path: Path, *, where: str = "", advice: str = "") -> _Value:
    """Decode a file, or a part of it.

    Args:
        decode: Makes the value.
        data: The bytes; a byte order mark is skipped.
        path: The file, for messages.
        where: What these bytes are, such as `Run 3 of 4`, if they are a part of the file.
        advice: What to do if they cannot be used.

    Raises:
        InputError: They are not JSON, or not of the type.
    """
    try:
        return decode(data.removeprefix(BOM))
    except msgspec.ValidationError as error:
        raise InputError(mistake(str(error), where), path=path, advice=advice) from None
    except _UNREADABLE as error:
        raise _malformed(error, data, path, advice) from None


def _malformed(error: Exception, data: bytes, path: Path, advice: str) -> InputError:
    if not data.removeprefix(BOM).strip():
        return InputError("The file is empty", path=path, advice=advice)
    if isinstance(error, RecursionError):
        return InputError("Values are nested too deep", path=path, advice=advice)
    if len(data) <= _EXPLAINED_BYTES:
        try:
            check_text(data, path)
            parse_json(data, path)
        except InputError as found:
            return InputError(found.what, path=path, line=found.line, advice=advice)
    if "truncated" in str(error):
        return InputError("It ends in the middle of a value", path=path, advice=advice)
    byte = _BYTE.search(str(error))
    return InputError(f"Invalid JSON{f' at byte {int(byte[1]):,}' if byte else ''}", path=path, advice=advice)


def mistake(message: str, where: str) -> str:
    """What a `ValidationError` of msgspec says; `where` is the part of the file that was decoded."""
    place = _PLACE.search(message)
    field = (place[1] if place else "").lstrip(".")
    named = f"{where}: `{field}`" if where and field else f"`{field}`" if field else where or "The file"
    if missing := _MISSING.search(message):
        return f"{named} has no `{missing[1]}`"
    if limit := _LIMIT.search(message):
        most = "at most" if limit[2] == "<=" else "at least"
        size = f"{many(int(limit[3]), 'character')} long" if limit[1] else limit[3]
        return f"{named} has to be {most} {size}"
    found = _PROBLEM.search(message)
    if found is None:
        return f"{named} is out of range"
    options = found[1].split(" | ")
    wanted = next((word for kind, word in (_NUMBERS | _KINDS).items() if kind in options), "as expected")
    return f"{named} is {(_NUMBERS | _KINDS).get(found[2], 'something else')}, not {wanted}"
