"""How long a service asks to wait, in the headers of its replies."""

from __future__ import annotations

import math
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


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


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return max(0.0, number) if math.isfinite(number) else None
