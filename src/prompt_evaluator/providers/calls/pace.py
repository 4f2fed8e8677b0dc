"""Arithmetic for the governor: how fast requests may be sent, and whether the service is slowing down."""

from __future__ import annotations

import math
from collections import deque
from typing import Literal, Protocol

LimitKind = Literal["requests", "tokens"]
BURST: dict[LimitKind, float] = {"requests": 1.0, "tokens": 5.0}
"""How many seconds of a rate that were not used may be used at once later, such as after a pause of the event loop.
More for tokens: calls in flight hold what they are expected to use, which may be far more than what they do use."""

_STEADY = 50
"""How many calls it takes before latencies are trusted."""
_SHORT, _LONG = 20, 500
"""How many calls the recent and the long-term average cover."""
_PACE_MARGIN = 0.97
_PACE_GROWTH, _PACE_PROBING = 0.05, 0.002
"""Growth per second of a learned rate: below the last rate known to be too fast, and above it, where it accelerates
as long as there is no 429."""
_FEWEST_FOR_PACE = 5
_SUSTAINED = 10.0
"""Seconds over which a rate counts as sustained, unlike an initial burst that a service tolerates."""
_REMEMBERED = 60
"""Seconds."""
_INSTANT = 0.05


class Rate(Protocol):
    """A limit per time, kept by this process alone or together with others."""

    per_second: float

    def set_rate(self, per_minute: float) -> None: ...

    def wait(self, now: float) -> float:
        """Return the seconds until the next `take` is allowed; 0 if it is allowed now."""

    def take(self, amount: float) -> None:
        """Use some of it; a negative amount gives back what a call was expected to use and did not."""


class Bucket:
    """A token bucket. It may run into debt once, so that no call is too big for it."""

    def __init__(self, per_minute: float, seconds_of_burst: float) -> None:
        self._burst = seconds_of_burst
        self._level = self._at = 0.0
        self.set_rate(per_minute)
        self._level = self._most

    def set_rate(self, per_minute: float) -> None:
        self.per_second = per_minute / 60
        self._most = max(1.0, self.per_second * self._burst)
        self._level = min(self._level, self._most)

    def wait(self, now: float) -> float:
        """Return the seconds until the next `take` is allowed; 0 if it is allowed now."""
        self._level = min(self._most, self._level + (now - self._at) * self.per_second) if self._at else self._level
        self._at = now
        return 0.0 if self._level >= min(1.0, self._most) else (1.0 - self._level) / self.per_second

    def take(self, amount: float) -> None:
        self._level -= amount


class Latency:
    """Compares the latency of recent calls with the long-term average: above 1 means slower."""

    def __init__(self) -> None:
        self._short = self._long = 0.0
        self._count = 0

    def add(self, seconds: float) -> float:
        self._count = count = self._count + 1
        few, many = (_SHORT, _LONG) if count > _LONG else (min(count, _SHORT), min(count, _LONG))
        self._short += (seconds - self._short) / few
        self._long += (seconds - self._long) / many
        if count < _STEADY or self._long <= 0.001:  # noqa: PLR2004 - below a millisecond is noise
            return 1.0
        return self._short / self._long


class Pace:
    """Learns the rate a service sustains over ten seconds, for services that reply 429 but do not state a limit."""

    def __init__(self) -> None:
        self.stated = False
        """Whether the service has stated its limit, so that nothing is learned from 429s."""
        self._since: float | None = None
        self._second = -1
        self._seconds: deque[list[int]] = deque(maxlen=_REMEMBERED)
        """Pairs of a second and its number of answers, for seconds that had any."""
        self._too_fast = math.inf
        self._grown_at = self._learned_at = 0.0

    def started(self, now: float) -> None:
        if self._since is None:
            self._since = now

    def answered(self, now: float) -> None:
        second = int(now)
        if second == self._second:
            self._seconds[-1][1] += 1
        else:
            self._second = second
            self._seconds.append([second, 1])

    def learn(self, now: float) -> float | None:
        """Return the rate to use after a 429: a little less than the best rate recently sustained.

        The current rate would not do: answers never come faster than we ask, so every 429, whatever its cause, would
        slow us down further.
        """
        if self.stated or self._since is None or sum(count for _, count in self._seconds) < _FEWEST_FOR_PACE:
            return None
        rate = self._sustained(now)
        self._too_fast, self._grown_at, self._learned_at = rate, now, now
        return rate * _PACE_MARGIN

    def _sustained(self, now: float) -> float:
        assert self._since is not None  # noqa: S101 - `learn` has checked it
        ends = [
            second + 1
            for second, _ in self._seconds
            if self._since + _SUSTAINED <= second + 1 <= now < second + 1 + _REMEMBERED
        ]
        if not ends:  # not running for long enough, or there was a pause: use everything
            return sum(count for _, count in self._seconds) / max(_INSTANT, now - self._since)
        spans = [[count for second, count in self._seconds if end - _SUSTAINED <= second < end] for end in ends]
        return max(map(sum, spans)) / _SUSTAINED

    def grow(self, rate: float, now: float) -> float:
        """Return a slightly higher rate; the increase is smaller near the rate that was too fast."""
        if self.stated:
            return rate
        quiet = now - self._learned_at
        growth = _PACE_GROWTH if rate < self._too_fast * _PACE_MARGIN else _PACE_PROBING * max(1.0, quiet)
        rate *= 1 + growth * (now - self._grown_at)
        self._grown_at = now
        return rate
