"""Cleans text and JSON for every database: no secrets, NUL characters or lone surrogates."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model import REDACTOR

if TYPE_CHECKING:
    from collections.abc import Iterable

_NUL = re.compile(rb"(?<!\\)((?:\\\\)*)\\u0000")
"""NUL as an escape in JSON; after an odd number of backslashes it is literal text."""
_encode = msgspec.json.Encoder().encode


def clean(text: str) -> str:
    return storable(REDACTOR.text(text))


def clean_or_none(text: str | None) -> str | None:
    return storable(REDACTOR.text(text)) if text else text


def is_clean(texts: Iterable[str]) -> bool:
    """Whether none of these texts, which may be JSON, needs cleaning. Checking all at once is faster."""
    joined = "\x1f".join(texts)
    has_nul = "\x00" in joined or ("\\" in joined and "\\u0000" in joined)  # the first part is the faster one
    return not has_nul and _is_encodable(joined) and REDACTOR.text(joined) == joined


def _is_encodable(text: str) -> bool:
    """Whether it has no lone surrogates."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def storable(text: str) -> str:
    """Replace NUL, which PostgreSQL refuses, and lone surrogates, which every database does."""
    if text.isascii():
        return text.replace("\x00", "�") if "\x00" in text else text
    return text.encode("utf-8", "replace").decode().replace("\x00", "�")


def hash_answer(text: str) -> str:
    """The hash by which labels know an answer: of the text of its unit, which has no secrets but may contain NUL."""
    return sha256(text.encode("utf-8", "replace")).hexdigest()


def as_json(value: Any) -> str:
    """Encode JSON for a column."""
    data = REDACTOR.json(_encode(value))
    return (_NUL.sub(rb"\1\\ufffd", data) if data.find(b"\\u0000") >= 0 else data).decode()


def json_of_clean(value: Any) -> str:
    """Encode JSON whose texts need no cleaning."""
    return _encode(value).decode()


def json_or_none(value: Any) -> str | None:
    """Encode JSON for a column; None if the value is empty."""
    return as_json(value) if value else None
