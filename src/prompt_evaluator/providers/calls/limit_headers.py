"""Rate limits that services state in the headers of their replies."""

from __future__ import annotations

import math
import re
import time
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    from prompt_evaluator.providers.calls.traits import OnLimits


class _Names(NamedTuple):
    limit: str
    remaining: str
    reset: str

    @classmethod
    def of(cls, pattern: str) -> Self:
        return cls(*(pattern.format(part) for part in ("limit", "remaining", "reset")))


_REQUESTS = (_Names.of("x-ratelimit-{}-requests"), _Names.of("anthropic-ratelimit-requests-{}"))
_TOKENS = (_Names.of("x-ratelimit-{}-tokens"), _Names.of("anthropic-ratelimit-tokens-{}"))
_LIMITS = frozenset(names.limit for names in (*_REQUESTS, *_TOKENS))
_MINUTE = 61.0
"""In seconds, plus one for rounding."""
_LONGER = (3_600.0, 86_400.0)
"""Other usual periods, in seconds."""
_A_LITTLE = 0.05
"""Seconds. Some services round to milliseconds, some to seconds."""
_SKEW = 60.0
"""How many seconds a service's clock may be ahead of ours; matters if it states a point in time."""
_A_MOMENT = 1e9
"""Numbers from here on are seconds since 1970; from a thousand times this on, milliseconds."""
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:d|h|ms|m|s))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(d|h|ms|m|s)")
_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def report_limits(headers: Mapping[str, str], on_limits: OnLimits | None) -> None:
    """Report the limits per minute that a reply states, if any.

    A limit for another period is reported as infinite. One whose period is not clear is not reported.
    """
    if on_limits is None or _LIMITS.isdisjoint(headers):
        return
    requests, tokens = _per_minute(headers, _REQUESTS), _per_minute(headers, _TOKENS)
    if requests or tokens:
        on_limits(requests, tokens)


def _per_minute(headers: Mapping[str, str], names: tuple[_Names, ...]) -> float | None:
    for each in names:
        if limit := _count(headers.get(each.limit)):
            return _limit_per_minute(limit, _count(headers.get(each.remaining)), headers.get(each.reset))
    return None


def _limit_per_minute(limit: int, remaining: int | None, reset: str | None) -> float | None:
    """Return a limit if it is per minute, infinity if it takes longer to reset, and None if that is not clear."""
    if not reset:
        return float(limit)
    seconds = _duration(reset)
    if seconds is None:
        moment = _moment(reset)
        return float(limit) if moment is not None and moment - time.time() <= _MINUTE + _SKEW else math.inf
    if seconds > _MINUTE:
        return math.inf
    return None if remaining is not None and _may_be_longer(limit, limit - remaining, seconds) else float(limit)


def _may_be_longer(limit: int, used: int, reset: float) -> bool:
    """Return whether a limit that resets this soon may be one per hour or day of which little is used.

    Many services refill a limit evenly: after one of 10,000 requests it is full again in 8.64 s if it is per day, and
    in 6 ms if it is per minute. What is used may include the refilled part of a request. A limit that resets at a fixed
    time fits an even refill only by chance, and not in the next reply.
    """
    most, least = max(used, 1) / limit, max(used - 1, 0) / limit
    if reset <= most * 60 + _A_LITTLE:
        return False
    rounding = 1.0 if reset.is_integer() else _A_LITTLE
    return any(least * period - rounding <= reset <= most * period + rounding for period in _LONGER)


def _count(text: str | None) -> int | None:
    """Parse a number of requests or tokens; None if there is none, or it is too long to be real."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else None  # noqa: PLR2004


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
