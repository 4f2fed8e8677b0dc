"""YAML built from libyaml's event stream: the YAML 1.2 core schema, with line numbers and limits.

PyYAML's own loaders follow YAML 1.1 (`no` is False, dates become objects), keep the last of two equal keys, lose line
numbers, and crash on deep nesting. Building the values here avoids all four and is several times faster.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import yaml

from prompt_evaluator.errors import InputError
from prompt_evaluator.syntax.document import MAX_DEPTH, PLACED_DEPTH, Document
from prompt_evaluator.syntax.scalars import FLOAT, INTEGER, MAX_DIGITS, NOT_FINITE, NUMBER_STARTS, RADIX, WORDS
from prompt_evaluator.syntax.source import check_text

if TYPE_CHECKING:
    from pathlib import Path

_MAX_COPIES = 1_000_000
"""How many values aliases may add in total. An alias is cheap to read, but its copies are expensive to write."""
_LONG_TEXT = 100
"""A text counts as one more value for each of this many characters."""

_Parser: Any = getattr(yaml, "CLoader", yaml.Loader)
_Scalar, _Alias = yaml.ScalarEvent, yaml.AliasEvent
_MappingStart, _MappingEnd = yaml.MappingStartEvent, yaml.MappingEndEvent
_SequenceStart, _SequenceEnd = yaml.SequenceStartEvent, yaml.SequenceEndEvent

_TAG = "tag:yaml.org,2002:"
_SCALAR_TAGS = {_TAG + "null", _TAG + "bool", _TAG + "int", _TAG + "float"}

# Line breaks in YAML 1.1, and so in libyaml, but not in YAML 1.2 or in editors.
_OLD_BREAKS = "\x85\u2028\u2029"


def parse_yaml(data: bytes, path: Path) -> Document:
    """Parse a whole YAML file."""
    text = check_text(data, path).decode()
    if stand_ins := _stand_ins(text):
        text = text.translate(stand_ins)
    try:
        return _Builder(text, path).document({new: old for old, new in stand_ins.items()})
    except yaml.MarkedYAMLError as error:
        raise _malformed(error, path) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, _character(text, error.position)) + 1
        what = f"Invalid YAML at line {line}: the control character U+{_code(error.character):04X}"
        advice = r"Remove it, or write it as an escape such as \x07 in double quotes."
        raise InputError(what, path=path, line=line, advice=advice) from None


class _Builder:
    def __init__(self, text: str, path: Path) -> None:
        self.path = path
        self.next = _Parser(text).get_event
        self.places: dict[int, dict[str | int, int]] = {}
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.names: dict[str, str] = {}
        self.nodes = self.copies = 0
        self.restore: dict[int, int] = {}
        self.merged: list[Any] = []  # kept alive so that no other value reuses an `id()` in `places`

    def document(self, restore: dict[int, int]) -> Document:
        self.restore = restore
        self.next()  # start of the stream
        if type(self.next()) is yaml.StreamEndEvent:
            return Document(None, {})
        root = self._node(self.next(), 1)
        self.next()  # end of the document
        event: Any = self.next()
        if type(event) is not yaml.StreamEndEvent:
            raise self._error(event, "a second document starts here", "Keep one document per file; remove the `---`.")
        return Document(root, self.places)

    def _node(self, event: Any, depth: int) -> Any:
        kind = type(event)
        before = self.nodes
        self.nodes += 1
        value: Any
        if kind is _Scalar:
            value = self._scalar(event)
            self.nodes += len(event.value) // _LONG_TEXT
        elif kind is _Alias:
            return self._alias(event)
        elif depth > MAX_DEPTH:
            raise self._error(event, f"values are nested more than {MAX_DEPTH} levels deep", "Flatten the value.")
        elif kind is _MappingStart:
            value = self._mapping(event, depth)
        else:
            value = self._sequence(event, depth)
        if event.anchor is not None:
            # Only now, so that an alias inside its own node is undefined.
            self.anchors[event.anchor] = (value, self.nodes - before)
        return value

    def _mapping(self, start: Any, depth: int) -> dict[str, Any]:
        self._check_tag(start, _TAG + "map")
        result: dict[str, Any] = {}
        merged: list[dict[str, Any]] = []
        lines: dict[str | int, int] = {}
        while type(event := self.next()) is not _MappingEnd:
            key = self._key(event)
            if key == "<<" and event.implicit[0]:
                merged += self._merged(event, depth)
                continue
            if key in result:
                raise self._error(event, f"the key {key[:40]!r} appears twice in one mapping", "Keep one of them.")
            lines[key] = event.start_mark.line + 1
            result[key] = self._node(self.next(), depth + 1)
        if merged:
            result = {name: value for source in reversed(merged) for name, value in source.items()} | result
        if depth <= PLACED_DEPTH:
            self.places[id(result)] = lines
        return result

    def _key(self, event: Any) -> str:
        if type(event) is not _Scalar:
            raise self._error(event, "a key that is not a text", "Write keys as plain texts.")
        if event.tag is not None:
            self._check_tag(event, _TAG + "str")
        key = self._text(event.value)
        key = self.names.setdefault(key, key)
        if event.anchor is not None:
            self.anchors[event.anchor] = (key, 1 + len(key) // _LONG_TEXT)
        return key

    def _merged(self, key: Any, depth: int) -> list[dict[str, Any]]:
        value = self._node(self.next(), depth + 1)
        self.merged.append(value)
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise self._error(key, "`<<` merges something that is not a mapping", "Merge an alias of a mapping.")
        return sources

    def _sequence(self, start: Any, depth: int) -> list[Any]:
        self._check_tag(start, _TAG + "seq")
        result: list[Any] = []
        lines: dict[str | int, int] = {}
        while type(event := self.next()) is not _SequenceEnd:
            lines[len(result)] = event.start_mark.line + 1
            result.append(self._node(event, depth + 1))
        if depth <= PLACED_DEPTH:
            self.places[id(result)] = lines
        return result

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self.anchors:
            why = f"the alias *{event.anchor[:40]} refers to itself or to nothing above it"
            raise self._error(event, why, f"Define &{event.anchor[:40]} before using it.")
        value, size = self.anchors[event.anchor]
        self.copies += size
        self.nodes += size
        if self.copies > _MAX_COPIES:
            why = f"aliases expand to more than {_MAX_COPIES:,} values"
            raise self._error(event, why, "Write the values out, or remove the aliases.")
        return value

    def _scalar(self, event: Any) -> Any:
        plain, _ = event.implicit
        text: str = event.value
        if not plain:
            return self._tagged(event) if event.tag not in (None, "!", _TAG + "str") else self._text(text)
        if text[:1] in NUMBER_STARTS and text:
            return self._number(text, event)
        return WORDS[text] if text in WORDS else self._text(text)

    def _tagged(self, event: Any) -> Any:
        if event.tag not in _SCALAR_TAGS:
            self._check_tag(event, "")
        value = self._number(event.value, event) if event.value[:1] in NUMBER_STARTS else event.value
        value = WORDS.get(value, value) if isinstance(value, str) else value
        wanted = event.tag.removeprefix(_TAG)
        if wanted == "float" and type(value) is int:
            return float(value)
        if {"null": type(None), "bool": bool, "int": int, "float": float}[wanted] is not type(value):
            why = f"{event.value[:40]!r} is not a valid {wanted}"
            raise self._error(event, why, "Correct the value or remove the tag.")
        return value

    def _number(self, text: str, event: Any) -> Any:
        if INTEGER.fullmatch(text) or RADIX.fullmatch(text):
            if len(text) > MAX_DIGITS:
                raise self._error(event, f"an integer of {len(text):,} digits", "Write it in quotes.")
            return int(text, 0)
        if FLOAT.fullmatch(text) and not math.isinf(number := float(text)):
            return number
        if NOT_FINITE.fullmatch(text) or FLOAT.fullmatch(text):
            raise self._error(event, f"{text[:40]} is not a finite number", "Write it in quotes, or use null.")
        return self._text(text)

    def _text(self, text: str) -> str:
        return text.translate(self.restore) if self.restore else text

    def _check_tag(self, event: Any, allowed: str) -> None:
        if event.tag not in (None, "!", allowed):
            shown = event.tag.replace(_TAG, "!!")
            raise self._error(event, f"the tag {shown[:80]}", "Remove it; only plain values are read.")

    def _error(self, event: Any, why: str, advice: str) -> InputError:
        line = event.start_mark.line + 1
        return InputError(f"Invalid YAML at line {line}: {why}", path=self.path, line=line, advice=advice)


def _stand_ins(text: str) -> dict[int, int]:
    """Map each old line break in the text to a private-use character that the text does not contain."""
    if not (present := [ord(character) for character in _OLD_BREAKS if character in text]):
        return {}
    escapes = text.upper()  # it may contain an escape such as `\uE000`
    free = (code for code in range(0xE000, 0xF8FF) if chr(code) not in text and f"{code:X}" not in escapes)
    return dict(zip(present, free, strict=False))


def _malformed(error: yaml.MarkedYAMLError, path: Path) -> InputError:
    problem = error.problem or error.context or "not YAML"
    no_colon = "could not find expected ':'" in problem  # detected only at the end of the supposed field name
    mark = (error.context_mark if no_colon else None) or error.problem_mark or error.context_mark
    line = mark.line + 1 if mark else 1
    advice = "Check the indentation, the colons after field names, and quotes around special characters."
    if "cannot start any token" in problem:
        problem, advice = (
            "a tab or a reserved character (@ or `) where a value starts",
            "Indent with spaces; quote @ and `.",
        )
    elif "Unicode character escape" in problem:
        problem, advice = (
            "an escape that is not a character, such as half of a surrogate pair",
            "Write the character itself.",
        )
    elif "end of stream" in problem:
        advice = "A quote or bracket is not closed; the file may have been cut off."
    return InputError(f"Invalid YAML at line {line}: {problem}", path=path, line=line, advice=advice)


def _character(text: str, byte: int) -> int:
    """Convert a byte offset to an index into `text`."""
    return len(text.encode()[:byte].decode(errors="ignore"))


def _code(character: int | str | bytes) -> int:
    return character if isinstance(character, int) else ord(character)
