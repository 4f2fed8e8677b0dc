"""Splits comma-separated values of an option, including values that contain commas."""

from __future__ import annotations

import re

import msgspec

SEVERAL = "Repeat the option or separate by commas."
"""Used in every help text."""
REPEATED = "Repeat the option for several."
"""The same for paths, which are not split at commas."""

_QUOTED = r'"[^"\\]*(?:\\.[^"\\]*)*"'
_WORD = re.compile(rf"\s*(?:({_QUOTED})\s*|([^,]*))(?:,|$)", re.DOTALL)
_QUOTED_ITEM = re.compile(rf"\s*({_QUOTED})\s*(?:,|$)", re.DOTALL)
_NEXT_PAIR = re.compile(r',(?=\s*"?[^\s,=<>!~"\[\]{}()]+\s*(?:[=<>~]|!=))')
_PAIR = re.compile(r"[^=<>!~]+(?:!=|[<>]=|[=<>~])\s*(.*)", re.DOTALL)
_JSON_BEGINS = ("[", "{", '"')


def split_words(text: str) -> list[str]:
    """Split at commas. A word in double quotes, as in JSON, may itself contain commas."""
    found = [_unquoted(match[1]) if match[1] else match[2].strip() for match in _matches(text)]
    return [word for word in found if word]


def quoted_word(text: str) -> str:
    """Return the text so that `split_words` finds this one word in it."""
    return msgspec.json.encode(text).decode() if "," in text or text.startswith('"') else text


def split_pairs(text: str) -> list[str]:
    """Split `key=value,key>=value` into its pairs.

    A comma separates pairs only if another `key=` or comparison follows, so `city=Paris, France` is one pair. A JSON
    value, or a whole pair in double quotes, may contain anything.
    """
    found, rest = [], text
    while rest.strip():
        if quoted := _QUOTED_ITEM.match(rest):
            part, rest = _unquoted(quoted[1]), rest[quoted.end() :]
        else:
            end = _end_of_pair(rest)
            part, rest = (rest[:end].strip() if end < len(rest) else rest.lstrip()), rest[end + 1 :]
        found.append(part)
    return [part for part in found if part]


def _matches(text: str) -> list[re.Match[str]]:
    found, at = [], 0
    while at < len(text) and (match := _WORD.match(text, at)):
        found.append(match)
        at = match.end()
    return found


def _end_of_pair(text: str) -> int:
    ends = [match.start() for match in _NEXT_PAIR.finditer(text)]
    pair = _PAIR.match(text)
    if pair and pair[1].startswith(_JSON_BEGINS):
        for end in (*ends, len(text)):
            if _is_json(text[pair.start(1) : end]):
                return end
    return ends[0] if ends else len(text)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return False
    return True


def _unquoted(text: str) -> str:
    try:
        return msgspec.json.decode(text, type=str)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return text
