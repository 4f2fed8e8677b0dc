"""Limits the load on one key at one endpoint: calls in flight, and requests and tokens per minute.

The limit on calls in flight starts low, grows while it is reached, and shrinks when the service pushes back (429).
Everything is arithmetic on one thread; a call that may go immediately needs no `await`.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.calls.stop import plain_wait, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.calls.stop import Wait
    from prompt_evaluator.model import Limits

DEFAULT_CONCURRENCY = 64
"""Calls in flight per key, unless configured."""
_START = 8
"""Calls in flight at first, so that a wrong key or an unknown judge wastes only a few."""
_GROWTH = 3.0
"""How much the limit grows with each answer until the service first pushes back: fourfold in the time of one call."""
_CUT = 0.7
_RECENT = 50
"""How many calls count as recent."""
_REAL_LIMIT = 0.1
"""Share of recent calls with a 429 above which there is a limit, and not an accident of single calls."""
_PAUSE = 0.5
"""Seconds for which all calls wait after a 429 to the only one in flight: the limit is a rate."""
_BURST = {"requests": 1.0, "tokens": 60.0}
"""How many seconds of a rate may be used at once. A whole minute of tokens, as services count them: calls in flight
hold what they are expected to use, which may be far more than what they do use."""

_ROUNDING = 1e-9


class _WaitingCall(NamedTuple):
    """A call that may not go yet."""

    future: asyncio.Future[None]
    tokens: float


class Lane:
    """One run's calls at one governor: those in flight, their cap, and those waiting."""

    def __init__(self, cap: int, limit: Callable[[], float]) -> None:
        self.cap, self._limit = cap, limit
        """Of this run, and what returns that of all runs."""
        self.in_flight = self.turn = 0
        """`turn` says when a waiting call last got its turn, counted in turns of the governor."""
        self.urgent: deque[_WaitingCall] = deque()
        self.others: deque[_WaitingCall] = deque()

    @property
    def limit(self) -> float:
        """How many calls the run may currently have in flight."""
        return min(self.cap, self._limit())


class Bucket:
    """A token bucket. It may run into debt once, so that no call is too big for it."""

    def __init__(self, per_minute: float, seconds_of_burst: float) -> None:
        self._per_second = per_minute / 60
        self._most = self._level = max(1.0, self._per_second * seconds_of_burst)
        self._at = -math.inf

    def wait(self, now: float) -> float:
        """Return the seconds until the next `take` is allowed; 0 if it is allowed now."""
        if self._at != -math.inf:
            self._level = min(self._most, self._level + (now - self._at) * self._per_second)
        self._at = now
        missing = 1.0 - self._level
        return missing / self._per_second if missing > _ROUNDING else 0.0

    def take(self, amount: float) -> None:
        """Use some of it; a negative amount gives back what a call was expected to use and did not."""
        self._level -= amount


class Governor:
    """Decides when the next call may go, across all runs that share the key and endpoint."""

    def __init__(self, limits: Limits, *, clock: Callable[[], float] = time.monotonic, share: float = 1.0) -> None:
        """Start with the limits of one entry, and this process's share of them if several make the calls of a run."""
        self._clock, self._share = clock, share
        self.cap = self._part(DEFAULT_CONCURRENCY)
        self.limit = float(self._part(_START))
        self.in_flight = 0
        self._lanes: list[Lane] = []
        self._turns = self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        self._held_until = -math.inf
        self._configured: dict[str, float] = {}
        """The strictest limits of all entries, by kind."""
        self._buckets: dict[str, Bucket] = {}
        self._pushed_back = False
        self._last_cut = -math.inf
        self._refused_share = 0.0
        self._last_refused: deque[object] = deque(maxlen=2)
        """One or two calls that are refused again and again are not many calls."""
        self.join(limits)

    @property
    def counts_tokens(self) -> bool:
        return "tokens" in self._buckets

    def join(self, limits: Limits, wanted: int | None = None) -> None:
        """Apply the limits of another entry as well; if several entries share a key, the strictest limit applies.

        Unless an entry sets `max_concurrency`, there may be as many calls in flight as a run has `wanted`.
        """
        if most := self._stricter("calls", limits.max_concurrency):
            self.cap = self._part(most)
        elif "calls" not in self._configured:
            self.cap = max(self.cap, wanted or 0)
        self.limit = min(self.limit, float(self.cap))
        for kind, rate in (("requests", limits.requests_per_minute), ("tokens", limits.tokens_per_minute)):
            if stricter := self._stricter(kind, rate):
                self._buckets[kind] = Bucket(stricter * self._share, _BURST[kind])

    def open_lane(self, cap: int | None = None) -> Lane:
        """Add a lane for one run, with at most `cap` calls in flight."""
        lane = Lane(cap or DEFAULT_CONCURRENCY, lambda: self.limit)
        self._lanes.append(lane)
        return lane

    def close_lane(self, lane: Lane) -> None:
        """Remove the lane of a run that has ended. None of its calls may be waiting."""
        self._lanes.remove(lane)

    def try_enter(self, lane: Lane, tokens: float = 0.0) -> bool:
        """Return whether a call may go immediately; if so, it counts as in flight. It never overtakes waiting calls."""
        if self._waiting or self.in_flight + 1 > self.limit or lane.in_flight >= lane.cap or self._rate_wait() > 0:
            return False
        self._admit(lane, tokens)
        return True

    async def enter(self, lane: Lane, tokens: float = 0.0, *, urgent: bool = False, wait: Wait = plain_wait) -> None:
        """Wait until a call may go: runs take turns; of one run, urgent calls go first, others in order of arrival."""
        waiting = _WaitingCall(asyncio.get_running_loop().create_future(), tokens)
        queue = lane.urgent if urgent else lane.others
        queue.append(waiting)
        self._waiting += 1
        self._pump()
        try:
            await wait(waiting.future)
        except BaseException:
            if waiting.future.done() and not waiting.future.cancelled() and not waiting.future.exception():
                self.leave(lane, tokens)  # admitted at the same moment; free its place for the next call
            else:
                with suppress(ValueError):
                    queue.remove(waiting)
                    self._waiting -= 1
                self._pump()
            raise

    def leave(self, lane: Lane, unused_tokens: float = 0.0) -> None:
        """Note that a call has ended, and how many tokens it used less than expected; negative if it used more."""
        self.in_flight -= 1
        lane.in_flight -= 1
        if unused_tokens and self.counts_tokens:
            self._buckets["tokens"].take(-unused_tokens)
        if self._waiting:
            self._pump()

    @property
    def is_limiting(self) -> bool:
        """Whether a rate, a `Retry-After` or what followed a 429 holds calls back, and not only our own cap."""
        return self._rate_wait() > 0 or (self._pushed_back and self.limit < self.cap)

    @property
    def is_refused(self) -> bool:
        """Whether the service refuses so many calls that it is the limit of the key, and not of single calls."""
        return self._refused_share > _REAL_LIMIT

    def succeeded(self) -> None:
        """Learn from an answer: if the limit is reached, raise it. Call before `leave`."""
        self._refused_share -= self._refused_share / _RECENT
        if self.limit < self.cap and self.in_flight >= int(self.limit):
            self.limit = min(float(self.cap), self.limit + (1 / self.limit if self._pushed_back else _GROWTH))

    def pushed_back(self, call: object, began: float, hold: float | None) -> None:
        """Learn from a 429. If they are rare, only the refused call waits; otherwise all do, and fewer are in flight.

        Args:
            call: Identifies the call.
            began: When the try started. Those that started before the last cut could not know of it.
            hold: How many seconds the service asks to wait.
        """
        if call not in self._last_refused:
            self._last_refused.append(call)
            self._refused_share += (1 - self._refused_share) / _RECENT
        if not self.is_refused:
            return
        if began >= self._last_cut:
            self._pushed_back, self._last_cut = True, self._clock()
            self.limit = max(1.0, self.limit * _CUT)
        self.hold(hold or (_PAUSE if self.in_flight == 1 else 0.0))

    def hold(self, seconds: float) -> None:
        """Let no call go for so long."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def _part(self, count: float) -> int:
        return max(1, int(count * self._share))

    def _stricter(self, kind: str, limit: int | None) -> float | None:
        """Return a configured limit if it is the strictest of its kind so far."""
        if limit is None or limit >= self._configured.get(kind, math.inf):
            return None
        self._configured[kind] = limit
        return limit

    def _rate_wait(self) -> float:
        """Return the seconds until the rates and the service allow another call."""
        if not self._buckets and self._held_until == -math.inf:
            return 0.0
        now = self._clock()
        return max(0.0, self._held_until - now, *(bucket.wait(now) for bucket in self._buckets.values()))

    def _admit(self, lane: Lane, tokens: float) -> None:
        self.in_flight += 1
        lane.in_flight += 1
        for kind, bucket in self._buckets.items():
            bucket.take(1 if kind == "requests" else tokens)

    def _pump(self) -> None:
        """Admit all calls that may go now, and schedule the next check for when the rates allow another."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        while self._waiting and self.in_flight < int(self.limit) and (lane := _next_lane(self._lanes)):
            queue = lane.urgent or lane.others
            if not queue[0].future.done():  # otherwise it was given up while waiting
                if (wait := self._rate_wait()) > 0:
                    self._timer = asyncio.get_running_loop().call_later(wait, self._pump)
                    return
                self._admit(lane, queue[0].tokens)
                resolve(queue[0].future)
                self._turns += 1
                lane.turn = self._turns
            queue.popleft()
            self._waiting -= 1


def _next_lane(lanes: Sequence[Lane]) -> Lane | None:
    """Return the lane whose turn it is: of those with a call that may go, the one that waited longest for a turn.

    Not that of the oldest call: a run that makes many calls at once would go before all others.
    """
    ready = (lane for lane in lanes if lane.in_flight < lane.cap and (lane.urgent or lane.others))
    return min(ready, key=lambda lane: lane.turn, default=None)
