"""Rate limits that services state in the headers of their replies."""

from __future__ import annotations

import math
import re
import time
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.providers.calls.traits import OnLimits


class _Names(NamedTuple):
    limit: str
    reset: str


_REQUESTS = (
    _Names("x-ratelimit-limit-requests", "x-ratelimit-reset-requests"),
    _Names("anthropic-ratelimit-requests-limit", "anthropic-ratelimit-requests-reset"),
)
_TOKENS = (
    _Names("x-ratelimit-limit-tokens", "x-ratelimit-reset-tokens"),
    _Names("anthropic-ratelimit-tokens-limit", "anthropic-ratelimit-tokens-reset"),
)
_LIMITS = frozenset(names.limit for names in (*_REQUESTS, *_TOKENS))
_MINUTE = 61.0
"""In seconds, plus one for rounding."""
_SKEW = 60.0
"""How many seconds a service's clock may be ahead of ours; matters if it states a point in time."""
_A_MOMENT = 1e9
"""Numbers from here on are seconds since 1970; from a thousand times this on, milliseconds."""
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:d|h|ms|m|s))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(d|h|ms|m|s)")
_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def report_limits(headers: Mapping[str, str], on_limits: OnLimits | None) -> None:
    """Report the limits per minute that a reply states, if any. A limit for another period is reported as infinite."""
    if on_limits is None or _LIMITS.isdisjoint(headers):
        return
    requests, tokens = _per_minute(headers, _REQUESTS), _per_minute(headers, _TOKENS)
    if requests or tokens:
        on_limits(requests, tokens)


def _per_minute(headers: Mapping[str, str], names: tuple[_Names, ...]) -> float | None:
    for limit, reset in names:
        value = headers.get(limit)
        if value and value.isascii() and value.isdigit() and len(value) < 12:  # noqa: PLR2004 - longer is not a real limit
            return float(value) if _is_of_a_minute(headers.get(reset)) else math.inf
    return None


def _is_of_a_minute(reset: str | None) -> bool:
    """Return whether a limit with this reset time may be per minute; a limit per day takes longer to reset."""
    if not reset:
        return True
    seconds = _duration(reset)
    if seconds is not None:
        return seconds <= _MINUTE
    moment = _moment(reset)
    return moment is not None and moment - time.time() <= _MINUTE + _SKEW


@lru_cache(maxsize=1_000)
def _duration(text: str) -> float | None:
    """Parse `1d2h`, `6m0s`, `120ms` or `59.7` to seconds; None if it is not a duration."""
    text = text.strip().lower()
    if _DURATION.fullmatch(text):
        return sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
    number = _number(text)
    return number if number is not None and number < _A_MOMENT else None


def _moment(text: str) -> float | None:
    """Parse a date or a large number to seconds since 1970."""
    if (number := _number(text)) is not None:
        return number if number < _A_MOMENT * 1000 else number / 1000
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
