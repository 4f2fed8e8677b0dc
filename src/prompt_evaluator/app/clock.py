"""The current time as text."""

from __future__ import annotations

import functools
import time
from datetime import UTC, datetime


def now() -> str:
    """The current time in the format of the artifacts."""
    return _at(time.time_ns() // 1_000_000)


@functools.lru_cache(maxsize=4)
def _at(milliseconds: int) -> str:
    """Remembers the last ones: a busy run asks several times in a millisecond."""
    seconds, rest = divmod(milliseconds, 1_000)
    return f"{_to_the_second(seconds)}.{rest:03d}Z"


@functools.lru_cache(maxsize=2)
def _to_the_second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def as_text(moment: datetime) -> str:
    """A time in the format of `now`, so that sorting the strings sorts by time."""
    moment = moment.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1_000:03d}Z"
