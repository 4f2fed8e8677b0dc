"""Bytes of a results file to values; what cannot be read is named, with how to restore it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from prompt_evaluator.errors import InputError, ResultsFileError
from prompt_evaluator.syntax import decoding
from prompt_evaluator.syntax.source import BOM

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_Value = TypeVar("_Value")
_RESTORE = "Restore it from the last build, or move it away; it was not changed."


def decoded(decode: Callable[[bytes], _Value], data: bytes, path: Path, where: str = "") -> _Value:
    """Decode, and turn every failure into a `ResultsFileError`; `where` begins the name of the place."""
    try:
        return decoding.decoded(decode, data, path, where=where, advice=_RESTORE)
    except InputError as error:
        raise in_sentence(error) from None


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
