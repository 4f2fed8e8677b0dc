"""Which unquoted texts are numbers, booleans or null: the YAML 1.2 core schema, with a few exceptions."""

from __future__ import annotations

import math
import re

MAX_DIGITS = 3_000
"""Most digits of an integer, in any base. Python refuses to format integers of more than 4,300 decimal digits."""

WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# `0123` stays text, as in YAML 1.2's JSON schema: it is probably an article number or a postcode.
INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
RADIX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
NUMBER_STARTS = frozenset("-+.0123456789")


def plain_scalar(text: str) -> str | int | float | bool | None:
    """Parse an unquoted text; anything but a boolean, null or a finite number stays text."""
    if not text or text[0] not in NUMBER_STARTS:
        return WORDS.get(text, text) if text else ""
    if (INTEGER.fullmatch(text) or RADIX.fullmatch(text)) and len(text) <= MAX_DIGITS:
        return int(text, 0)
    if FLOAT.fullmatch(text) and not math.isinf(number := float(text)):
        return number
    return text
