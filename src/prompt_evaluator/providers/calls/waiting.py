"""How long to wait before the next try: what the service asked for, or exponential backoff."""

from __future__ import annotations

import math
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

_LONGEST_BACKOFF = 30.0


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds the service asks us to wait; None if it does not say, or the value is unreadable.

    Args:
        headers: The reply's headers; lookup must ignore case.
        now: Seconds since the epoch, for services that state a date.
    """
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if (value := headers.get(name)) and (milliseconds := _number(value)) is not None:
            return milliseconds / 1000
    value = headers.get("retry-after")
    if not value:
        return None
    if (seconds := _number(value)) is not None:
        return seconds
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def wait_before_retry(tries: int, asked: float | None, first_backoff: float, rng: Random) -> float:
    """Return the seconds to wait: at least `asked`, plus jitter so that many callers do not return at the same moment.

    If `asked` is 0, as for a date in the past, the backoff is used.
    """
    if asked:
        return asked + rng.uniform(0, min(1.0, 0.05 + asked * 0.05))
    backoff: float = min(_LONGEST_BACKOFF, first_backoff * 2 ** (tries - 1))
    return backoff * rng.uniform(1, 1.5)


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
