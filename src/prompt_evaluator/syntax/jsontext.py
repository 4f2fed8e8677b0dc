"""Strict JSON, with line numbers and an explanation of every error.

This is the exact path: for a whole `.json` file, or for lines of a JSONL file that the fast path does not accept.
"""

from __future__ import annotations

import json
import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

from prompt_evaluator.errors import InputError
from prompt_evaluator.syntax.document import MAX_DEPTH, PLACED_DEPTH, Document
from prompt_evaluator.syntax.source import bad_byte, check_text, nul_byte

if TYPE_CHECKING:
    from pathlib import Path

_SPACE = re.compile(r"[ \t\n\r]*")
_TOO_DEEP = f"values are nested more than {MAX_DEPTH} levels deep"


def parse_json(data: bytes, path: Path) -> Document:
    """Parse a whole `.json` file."""
    text = check_text(data, path).decode()
    return _Reader(text, path).document() if text.strip() else Document(None, {})


def parse_json_line(line: bytes, *, path: Path, number: int) -> dict[str, Any]:
    """Parse one line of a JSONL file, which must be an object."""
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise bad_byte(line, error.start, path=path, line=number) from None
    if "\0" in text:
        raise nul_byte(path=path, line=number)
    root = _Reader(text, path, first_line=number).document().root
    if isinstance(root, dict):
        return root
    kind = {list: "an array", str: "a string", type(None): "null", bool: "a boolean"}.get(type(root), "a number")
    advice = 'Write one object per line, such as {"id": "a", "input": "…"}, without brackets around them.'
    raise InputError(f"Line {number} is {kind}, not an object", path=path, line=number, advice=advice)


class _Refused(Exception):  # noqa: N818 - used inside this module only
    """Well-formed JSON that no case may contain."""

    def __init__(self, why: str, advice: str) -> None:
        self.why, self.advice = why, advice


class _Reader:
    def __init__(self, text: str, path: Path, first_line: int = 1) -> None:
        self.text, self.path, self.first_line = text, path, first_line
        self.counted = (0, first_line)  # the last offset whose line is known; counting continues from there
        self.places: dict[int, dict[str | int, int]] = {}
        self.decoder = json.JSONDecoder(
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_float,
        )

    def document(self) -> Document:
        at = self._skip(0)
        try:
            root, end = self._value(at, 1)
            self._end(end)
        except json.JSONDecodeError as error:
            raise self._malformed(error) from None
        return Document(root, self.places)

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        start = self.text[at : at + 1]
        if depth <= PLACED_DEPTH and start == "{":
            return self._mapping(at, depth)
        if depth <= PLACED_DEPTH and start == "[":
            return self._sequence(at, depth)
        return self._leaf(at, depth)

    def _leaf(self, at: int, depth: int) -> tuple[Any, int]:
        """Parse a value whose inner lines are not kept."""
        try:
            value, end = self.decoder.raw_decode(self.text, at)
            _check_values(value, depth)
        except _Refused as refused:
            raise self._error(at, refused.why, refused.advice) from None
        except RecursionError:
            raise self._error(at, _TOO_DEEP, "Flatten the value.") from None
        return value, end

    def _mapping(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        result: dict[str, Any] = {}
        lines = self.places[id(result)] = {}
        at = self._skip(at + 1)
        if self.text[at : at + 1] == "}":
            return result, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                raise json.JSONDecodeError("Expecting property name enclosed in double quotes", self.text, at)
            key_at = at
            key, at = self._leaf(at, depth)
            if key in result:
                refused = _repeated(key)
                raise self._error(key_at, refused.why, refused.advice)
            lines[key] = self._line(key_at)
            at = self._skip(self._expect(":", self._skip(at)))
            result[key], at = self._value(at, depth + 1)
            at = self._skip(at)
            if self.text[at : at + 1] == "}":
                return result, at + 1
            at = self._skip(self._expect(",", at))

    def _sequence(self, at: int, depth: int) -> tuple[list[Any], int]:
        result: list[Any] = []
        lines = self.places[id(result)] = {}
        at = self._skip(at + 1)
        if self.text[at : at + 1] == "]":
            return result, at + 1
        while True:
            lines[len(result)] = self._line(at)
            item, at = self._value(at, depth + 1)
            result.append(item)
            at = self._skip(at)
            if self.text[at : at + 1] == "]":
                return result, at + 1
            at = self._skip(self._expect(",", at))

    def _end(self, at: int) -> None:
        at = self._skip(at)
        if at != len(self.text):
            raise json.JSONDecodeError("Extra data", self.text, at)

    def _skip(self, at: int) -> int:
        space = _SPACE.match(self.text, at)
        return space.end() if space else at

    def _expect(self, mark: str, at: int) -> int:
        if self.text[at : at + 1] != mark:
            raise json.JSONDecodeError(f"Expecting '{mark}' delimiter", self.text, at)
        return at + 1

    def _line(self, at: int) -> int:
        known_at, known_line = self.counted if self.counted[0] <= at else (0, self.first_line)
        line = known_line + self.text.count("\n", known_at, at)
        self.counted = (at, line)
        return line

    def _error(self, at: int, why: str, advice: str) -> InputError:
        line = self._line(at)
        return InputError(f"Invalid JSON at line {line}: {why}", path=self.path, line=line, advice=advice)

    def _malformed(self, error: json.JSONDecodeError) -> InputError:
        why, advice = _in_plain_words(error)
        return self._error(error.pos, f"{why}, at column {error.colno}", advice)


def _in_plain_words(error: json.JSONDecodeError) -> tuple[str, str]:  # noqa: PLR0911 - a table of cases
    before, rest = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip()
    if "trailing comma" in error.msg or (before.endswith(",") and rest[:1] in ("}", "]")):
        return "a trailing comma", "Remove the comma before the closing bracket."
    if not rest or error.msg.startswith("Unterminated string"):
        return "it ends in the middle of a value", "Complete it, or remove it if the file was cut off."
    if error.msg == "Extra data":
        if rest.startswith(","):
            return "a comma after the value", "Remove it; lines are not separated by commas."
        return "more than one value", "Put each case on a line of its own."
    if rest.startswith("'"):
        return "single quotes", "Write names and texts in double quotes."
    if error.msg.startswith("Invalid control character"):
        return "a raw control character inside a text", r"Write it as an escape, such as \n or \t."
    return error.msg[0].lower() + error.msg[1:], "Correct the JSON; an editor with JSON support shows the place."


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        raise _repeated(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return result


def _repeated(key: str) -> _Refused:
    return _Refused(f"the key {key[:40]!r} appears twice in one object", "Keep one of them.")


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not a JSON value", "Use a number, a text or null.")


def _integer(digits: str) -> int:
    try:
        return int(digits)
    except ValueError:
        raise _Refused(f"an integer of {len(digits):,} digits", "Write it as a text.") from None


def _float(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise _Refused(f"the number {digits[:40]} is too large", "Write it as a text.")
    return number


def _check_values(value: Any, depth: int) -> None:
    if isinstance(value, str):
        check_surrogates(value)
    elif isinstance(value, (dict, list)):
        if depth > MAX_DEPTH:
            raise RecursionError
        if isinstance(value, dict):
            for key in value:
                check_surrogates(key)
        for item in value.values() if isinstance(value, dict) else value:
            _check_values(item, depth + 1)


def check_surrogates(text: str) -> None:
    """Refuse a lone surrogate, which cannot be encoded for a file, database or request."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        code = f"U+{ord(text[error.start]):04X}"
        raise _Refused(f"a text contains the lone surrogate {code}", "Write the whole character.") from None
