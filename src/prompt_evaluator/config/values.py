"""Converts values from files, variables, flags and Python callers to the declared type of their option."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.config.hosts import HOSTS, WEB_ADDRESS, hosts_in, normalised
from prompt_evaluator.config.problems import described
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.declaration import MAPPING, METRICS, NUMBERS, SHARES

if TYPE_CHECKING:
    from prompt_evaluator.model.declaration import Kind


def converted(kind: Kind, value: Any, *, text: bool = False) -> Any:
    """Convert a value to its declared type, parsing it if it is `text`. Raise `ValueError` if it is not allowed."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if text and kind in (MAPPING, METRICS):
        value = _json_or_text(value)
    if text and kind is HOSTS:
        value = hosts_in(value)
    if kind.bound and kind not in (NUMBERS, SHARES):
        return kind.bound.read_text(value) if text and isinstance(value, str) else kind.bound.read(value)
    result = msgspec.convert(value, kind.type, strict=not text)
    if kind.bound:
        return {name: kind.bound.read(number) for name, number in result.items()}
    if kind is MAPPING:
        return _plain(result)
    if kind is METRICS:
        return tuple(result) if isinstance(result, list) else (result,)
    return normalised(kind, result) if kind in (HOSTS, WEB_ADDRESS) else result


def checked(kind: Kind, value: Any, origin: str, *, text: bool = False) -> Any:
    """Same as `converted`, but raise `ConfigurationError`, with a sentence that names the origin."""
    try:
        return converted(kind, value, text=text)
    except ValueError:
        within = kind in (MAPPING, NUMBERS, SHARES) and isinstance(value, dict)
        found = "one with something else in it" if within else described(value)
        what = f"{origin} has to be {kind.words}, not {found}"
        raise ConfigurationError(f"{what}. Correct it or leave it out.") from None


def _json_or_text(text: str) -> Any:
    if not text.startswith(("{", "[")):
        return text
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def _plain(mapping: dict[str, Any]) -> Any:
    """Refuse what cannot be sent: Python callers may pass anything, even NaN, which would be sent as null."""
    try:
        plain = msgspec.to_builtins(mapping)
        unchanged = msgspec.json.decode(msgspec.json.encode(plain)) == plain
    except (TypeError, ValueError):
        raise ValueError from None
    if not unchanged:
        raise ValueError
    return plain
