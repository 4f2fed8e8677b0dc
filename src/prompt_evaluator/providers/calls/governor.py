"""How hard one key at one endpoint is pressed: calls in flight, requests and tokens a minute.

The number of calls in flight starts modest, grows while it is used up, and shrinks when the service pushes back (429)
or slows down. Rates come from the configuration, from rate-limit headers, or, when a service only says 429, from
what it let through. Everything is plain arithmetic on one thread; a call that may go at once pays no `await`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Limits

DEFAULT_CONCURRENCY = 64
"""Calls in flight per key when nobody says anything else."""
_START = 8
_CUT = 0.7
_REAL_LIMIT, _HARD_LIMIT = 0.1, 0.4
"""Shares of recent calls that were told 429: from the first on it is no accident, from the second on anything goes."""
_FEW_CALLS, _MANY_CALLS = 20, 50
"""How many calls are recent: few at first, to notice a limit soon, and more later, to tell it from accidents."""
_FEW = 4
"""Fewer calls in flight than this help only against a hard limit."""
_REGROWTH = 0.05
"""Share by which a limit that was cut grows again in the time of one call."""
_SLOWER, _MUCH_SLOWER = 1.5, 2.0
_STEADY = 50
"""Calls before latencies are believed."""
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


class Governor:
    """Decides when the next call may go."""

    def __init__(
        self,
        limits: Limits,
        *,
        cap: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        lag: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """Take the limits, a cap on calls in flight beside theirs, a clock, and how late the event loop runs.

        A saturated client sees its own lateness as the service's latency; without `lag` it would throttle itself.
        """
        self.cap = min((most for most in (cap, limits.max_concurrency) if most), default=DEFAULT_CONCURRENCY)
        self.limit = float(min(_START, self.cap))
        self.in_flight = 0
        self._clock, self._lag = clock, lag
        self._waiters: deque[tuple[asyncio.Future[None], float]] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._held_until = 0.0
        self._requests = _bucket(limits.requests_per_minute, 1.0)
        self._tokens = _bucket(limits.tokens_per_minute, 5.0)
        self._fixed_requests = self._requests is not None
        self._fixed_tokens = self._tokens is not None
        self._latency = _Latency()
        self._pace = _Pace()
        self._pushed_back = False
        self._last_cut = self._last_event = -math.inf
        self._share_told, self._recent = 0.0, float(_FEW_CALLS)
        self._crowded_at = -math.inf

    @property
    def counts_tokens(self) -> bool:
        return self._tokens is not None

    def try_enter(self, tokens: float) -> bool:
        """Whether a call may go at once; if so, it counts as in flight."""
        if self._waiters or self.in_flight >= int(self.limit) or self._wait_for_budget() > 0:
            return False
        self._admit(tokens)
        return True

    async def enter(self, tokens: float) -> None:
        """Wait, first come first served, until a call may go."""
        future = asyncio.get_running_loop().create_future()
        self._waiters.append((future, tokens))
        self._pump()
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.leave()  # admitted in the same moment; the place goes to the next in line
            else:
                self._pump()
            raise

    def leave(self) -> None:
        """A call is over, whatever came of it."""
        self.in_flight -= 1
        if self._waiters:
            self._pump()

    def succeeded(self, seconds: float, began: float, tokens: float | None = None, estimate: float = 0.0) -> None:
        """Learn from an answer. Call before `leave`."""
        self._pace.answered(self._clock())
        self._share_told -= self._share_told / self._recent
        self._recent = min(_MANY_CALLS, self._recent + 0.05)
        if self._tokens is not None and tokens is not None:
            self._tokens.take(tokens - estimate)
        trend = self._latency.add(max(0.0, seconds - 3 * self._lag()))
        if trend > _MUCH_SLOWER and self.limit > _START:
            self._cut(began, 0.9, at_least=_START)
        elif trend < _SLOWER and self._crowded_at >= began and self.limit < self.cap:
            step = max(1.0, self.limit * _REGROWTH) / self.limit if self._pushed_back else 1.0
            self.limit = min(float(self.cap), self.limit + step)
        if self._requests is not None and not self._fixed_requests:
            self._requests.set_rate(self._pace.grow(self._requests.per_second, self._clock()) * 60)

    def pushed_back(self, began: float, hold: float | None) -> None:
        """The service said 429. Many of them at once are one event: only the first of a burst counts.

        One among many answers is an accident, or the first touch of a limit: only its own call waits. When they are
        no longer rare, all calls wait, fewer go at once, and they go at the pace that the service is seen to bear.
        """
        now = self._clock()
        self._share_told += (1 - self._share_told) / self._recent
        serious = self._share_told > _REAL_LIMIT
        if hold is not None and serious:
            self._held_until = max(self._held_until, now + hold)
        if began < self._last_event or not serious:
            return
        self._last_event = now
        self._pushed_back = True
        self._cut(began, _CUT, at_least=1 if self._share_told > _HARD_LIMIT else _FEW)
        if not self._fixed_requests and (pace := self._pace.learn(now)):
            self._requests = self._requests or Bucket(pace * 60, 0.1)
            self._requests.set_rate(pace * 60)

    def learn(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        """Take over what rate-limit headers say, unless the user said something."""
        if requests_per_minute and not (self._fixed_requests and self._requests):
            self._requests = self._requests or Bucket(requests_per_minute, 1.0)
            self._requests.set_rate(requests_per_minute)
            self._pace.told = True
        if tokens_per_minute and not self._fixed_tokens:
            self._tokens = self._tokens or Bucket(tokens_per_minute, 5.0)
            self._tokens.set_rate(tokens_per_minute)

    def _cut(self, began: float, share: float, *, at_least: float) -> None:
        if began >= self._last_cut:  # else it was sent before the last cut could have any effect
            self._last_cut = self._clock()
            self.limit = max(min(at_least, self.limit), self.limit * share)

    def _wait_for_budget(self) -> float:
        if self._requests is None and self._tokens is None and not self._held_until:
            return 0.0
        now = self._clock()
        wait = self._held_until - now
        if self._requests is not None:
            wait = max(wait, self._requests.wait(now))
        if self._tokens is not None:
            wait = max(wait, self._tokens.wait(now))
        return wait

    def _admit(self, tokens: float) -> None:
        self.in_flight += 1
        now = self._clock()
        self._pace.started(now)
        if self.in_flight >= int(self.limit) * 0.8:
            self._crowded_at = now
        if self._requests is not None:
            self._requests.take(1)
        if self._tokens is not None:
            self._tokens.take(tokens)

    def _pump(self) -> None:
        """Let in whoever may go now, and come back when a budget allows the next."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiters and self.in_flight < int(self.limit):
            future, tokens = self._waiters[0]
            if future.done():  # cancelled while waiting
                self._waiters.popleft()
                continue
            if (wait := self._wait_for_budget()) > 0:
                self._timer = asyncio.get_running_loop().call_later(wait, self._pump)
                return
            self._waiters.popleft()
            self._admit(tokens)
            future.set_result(None)


class _Latency:
    """How the last calls compare with the long run: above 1 is slower."""

    def __init__(self) -> None:
        self._short = self._long = 0.0
        self._count = 0

    def add(self, seconds: float) -> float:
        self._count += 1
        weight = 1 / min(self._count, 20)
        self._short += weight * (seconds - self._short)
        self._long += (seconds - self._long) / min(self._count, 500)
        if self._count < _STEADY or self._long <= 0.001:  # noqa: PLR2004 - below a millisecond is noise
            return 1.0
        return self._short / self._long


class _Pace:
    """Which rate a service bears that says 429 but not what its limit is: what it has borne over ten seconds."""

    def __init__(self) -> None:
        self.told = False
        self._since: float | None = None
        self._seconds: deque[tuple[int, int]] = deque(maxlen=_REMEMBERED)
        """Answers by second, of those seconds that had any."""
        self._too_fast = math.inf
        self._grown_at = self._learned_at = 0.0

    def started(self, now: float) -> None:
        if self._since is None:
            self._since = now

    def answered(self, now: float) -> None:
        second = int(now)
        if self._seconds and self._seconds[-1][0] == second:
            self._seconds[-1] = (second, self._seconds[-1][1] + 1)
        else:
            self._seconds.append((second, 1))

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


def _bucket(per_minute: int | None, seconds_of_burst: float) -> Bucket | None:
    return Bucket(per_minute, seconds_of_burst) if per_minute else None
