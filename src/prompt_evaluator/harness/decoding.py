"""Bytes of a results file to values, and a sentence for everything that can be wrong with them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from prompt_evaluator.errors import InputError, ResultsFileError
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
_MISSING = re.compile(r"missing required field `([^`]+)`")
_KINDS = {"str": "a text", "bool": "true or false", "array": "a list", "object": "an object", "null": "null"}
_NUMBERS = {"int": "a whole number", "float": "a number"}
_RESTORE = "Restore it from the last build, or move it away; it was not changed."


def decoded(decode: Callable[[bytes], _Value], data: bytes, path: Path, where: str = "") -> _Value:
    """Decode, and turn every failure into a `ResultsFileError`; `where` begins the name of the place."""
    try:
        return decode(data.removeprefix(BOM))
    except msgspec.ValidationError as error:
        raise wrong(_mistake(str(error), where), path) from None
    except _UNREADABLE as error:
        raise _malformed(error, data, path) from None


def refuse_repeated_keys(raw: bytes, path: Path, where: str) -> None:
    """Raise if an object has a key twice: of two values, nobody knows which is meant.

    Decoding keeps one of them, so encoding the result has fewer quotes. The slow check is for escaped quotes.
    """
    value = decoded(msgspec.json.decode, raw, path, where)
    if b"\\u0022" not in raw and raw.count(b'"') == msgspec.json.encode(value).count(b'"'):
        return

    def checked(pairs: list[tuple[str, Any]]) -> None:
        keys = [key for key, _ in pairs]
        if repeated := next((key for key in keys if keys.count(key) > 1), None):
            raise wrong(f"{where or 'The file'} has the key {repeated[:40]!r} twice in one object", path)

    json.loads(raw.removeprefix(BOM), object_pairs_hook=checked)


def wrong(what: str, path: Path) -> ResultsFileError:
    return ResultsFileError(what, path=path, advice=_RESTORE)


def in_sentence(error: InputError) -> ResultsFileError:
    """The same problem of a file that was to be read, as one of the results."""
    return ResultsFileError(error.what, path=error.path, line=error.line, advice=error.advice)


def _malformed(error: Exception, data: bytes, path: Path) -> ResultsFileError:
    if not data.removeprefix(BOM).strip():
        return wrong("The file is empty", path)
    if isinstance(error, RecursionError):
        return wrong("Values are nested too deep", path)
    if len(data) <= _EXPLAINED_BYTES:
        try:
            check_text(data, path)
            parse_json(data, path)
        except InputError as found:
            return ResultsFileError(found.what, path=path, line=found.line, advice=_RESTORE)
    byte = _BYTE.search(str(error))
    if "truncated" in str(error):
        return wrong("It ends in the middle of a value", path)
    return wrong(f"Invalid JSON{f' at byte {int(byte[1]):,}' if byte else ''}", path)


def _mistake(message: str, where: str) -> str:
    place = _PLACE.search(message)
    field = (place[1] if place else "").lstrip(".")
    named = f"{where}: `{field}`" if where and field else f"`{field}`" if field else where or "The file"
    if missing := _MISSING.search(message):
        return f"{named} has no `{missing[1]}`"
    found = _PROBLEM.search(message)
    if found is None:
        return f"{named} is a number that is out of range"
    options = found[1].split(" | ")
    wanted = next((word for kind, word in (_NUMBERS | _KINDS).items() if kind in options), "as expected")
    got = found[2] or ""
    return f"{named} is {_KINDS.get(got) or _NUMBERS.get(got, 'something else')}, not {wanted}"
