"""How fast a service may be asked, and whether it is slowing down: arithmetic for the governor."""

from __future__ import annotations

import math
from collections import deque

_STEADY = 50
"""Calls before latencies are believed."""
_SHORT, _LONG = 20, 500
"""Calls that count as the last ones, and as the long run."""
_PACE_MARGIN = 0.97
_PACE_GROWTH, _PACE_PROBING = 0.05, 0.002
"""Growth per second of a learned pace: below the last one known to be too fast, and above it, where it is faster the
longer nothing has happened."""
_FEWEST_FOR_PACE = 5
_SUSTAINED = 10.0
"""Seconds over which a rate counts as sustained: a burst that a service forgives at first is not."""
_REMEMBERED = 60
"""Seconds."""
_INSTANT = 0.05


class Bucket:
    """A budget per minute that refills continuously. It may run into debt once, so no call is too big for it."""

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
        """Seconds until something may be taken: 0 for now."""
        self._level = min(self._most, self._level + (now - self._at) * self.per_second) if self._at else self._level
        self._at = now
        return 0.0 if self._level >= min(1.0, self._most) else (1.0 - self._level) / self.per_second

    def take(self, amount: float) -> None:
        self._level -= amount


class Latency:
    """How the last calls compare with the long run: above 1 is slower."""

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
    """Which rate a service bears that says 429 but not what its limit is: what it has borne over ten seconds."""

    def __init__(self) -> None:
        self.told = False
        self._since: float | None = None
        self._second = -1
        self._seconds: deque[list[int]] = deque(maxlen=_REMEMBERED)
        """Answers by second, of those seconds that had any."""
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
        """After a 429: a little less than the best rate that was sustained of late.

        Not less than that: answers come at most as fast as we ask, so going by the last few alone would mean to go
        slower with every 429, whatever its cause.
        """
        if self.told or self._since is None or sum(count for _, count in self._seconds) < _FEWEST_FOR_PACE:
            return None
        rate = self._sustained(now)
        self._too_fast, self._grown_at, self._learned_at = rate, now, now
        return rate * _PACE_MARGIN

    def _sustained(self, now: float) -> float:
        assert self._since is not None  # noqa: S101 - asked for only after the first call
        ends = [
            second + 1
            for second, _ in self._seconds
            if self._since + _SUSTAINED <= second + 1 <= now < second + 1 + _REMEMBERED
        ]
        if not ends:  # it has not gone on for long enough, or it paused: all there is
            return sum(count for _, count in self._seconds) / max(_INSTANT, now - self._since)
        spans = [[count for second, count in self._seconds if end - _SUSTAINED <= second < end] for end in ends]
        return max(map(sum, spans)) / _SUSTAINED

    def grow(self, rate: float, now: float) -> float:
        """A little faster than before, the more carefully the nearer to what was too fast."""
        if self.told:
            return rate
        quiet = now - self._learned_at
        growth = _PACE_GROWTH if rate < self._too_fast * _PACE_MARGIN else _PACE_PROBING * max(1.0, quiet)
        rate *= 1 + growth * (now - self._grown_at)
        self._grown_at = now
        return rate
