"""How long to wait before the next try: what the service asked for, or a growing guess."""

from __future__ import annotations

import math
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from random import Random

_LONGEST_BACKOFF = 30.0


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds the service asks us to wait; None when it does not say, or says something unreadable.

    Args:
        headers: Of the reply, found whatever their letter case.
        now: Seconds since the epoch, for services that give a date.
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
    """Never less than what was asked for; spread upwards, so that many callers do not come back as one.

    Who asks for no wait at all, as a date in the past does, is not asked again without one.
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
