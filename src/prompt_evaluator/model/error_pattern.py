"""Groups messages of errors: two that differ only in ids, hashes, numbers and times have the same pattern."""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache

_COMPARED = 400
"""Characters of a message that count; services quote whole requests behind them."""
_REPLACED = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"), "[time]"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE), "[id]"),
    (re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{8,}\b", re.IGNORECASE), "[id]"),
    (re.compile(r"\b(?=\w*\d)(?=\w*[a-z])\w{12,}\b", re.IGNORECASE), "[id]"),
    (re.compile(r"(?<![\w-])\d+(?:[.,:]\d+)*"), "[number]"),
)
_BETWEEN = "/"


@lru_cache(4_096)
def error_pattern(message: str) -> str:
    """The message without what differs from one time to the next."""
    found = " ".join(message[:_COMPARED].split())
    for part, word in _REPLACED:
        found = part.sub(word, found)
    return found


@lru_cache(4_096)
def pattern_id(message: str) -> str:
    """A short name of a message's pattern, for filters."""
    return hashlib.sha256(error_pattern(message).encode("utf-8", "replace")).hexdigest()[:8]


def error_name(kind: str, message: str) -> str:
    """What a filter calls errors of a kind with this pattern: `TimedOutError/3fa2b1c0`."""
    return f"{kind}{_BETWEEN}{pattern_id(message)}"


def split_name(name: str) -> tuple[str, str | None]:
    """The kind that a filter asks for, and the pattern if it names one."""
    kind, _, pattern = name.partition(_BETWEEN)
    return kind, pattern or None
