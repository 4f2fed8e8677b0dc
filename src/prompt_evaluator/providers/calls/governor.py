"""Limits the load on one key at one endpoint: calls in flight, and requests and tokens per minute.

The limit on calls in flight starts low, grows while it is reached, and shrinks when the service pushes back (429) or
slows down. Rates come from the configuration, from rate-limit headers or, if a service only replies 429, from the rate
it has sustained. Everything is arithmetic on one thread; a call that may go immediately needs no `await`.
"""

from __future__ import annotations

import asyncio
import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_evaluator.providers.calls.lanes import Lane, WaitingCall, next_lane
from prompt_evaluator.providers.calls.pace import BURST, Bucket, Latency, Pace
from prompt_evaluator.providers.calls.shared_rate import SharedBucket
from prompt_evaluator.providers.calls.stop import plain_wait

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Limits, Usage
    from prompt_evaluator.providers.calls.pace import LimitKind, Rate
    from prompt_evaluator.providers.calls.shared_key import SharedKey
    from prompt_evaluator.providers.calls.stop import Wait

DEFAULT_CONCURRENCY = 64
"""Calls in flight per key, unless configured."""
_START = 8
"""Calls in flight at first, so that a wrong key or an unknown judge wastes only a few."""
_GROWTH = 3.0
"""How much the limit grows with each answer until the service first pushes back: fourfold in the time of one call."""
_CUT = 0.7
_REAL_LIMIT, _HARD_LIMIT = 0.1, 0.4
"""Shares of recent calls that got a 429. Above the first, all calls slow down; above the second, the limit on calls in
flight may fall below `_FEW`."""
_FEW_CALLS, _MANY_CALLS = 20, 50
"""How many calls count as recent: few at first, to notice a limit soon; more later, to tell it from stray 429s."""
_FEW = 4
"""Going below this many calls in flight helps only against a hard limit."""
_REGROWTH = 0.05
"""Share by which a limit that was cut grows back in the time of one call."""
_SLOWER, _MUCH_SLOWER = 1.5, 2.0


class Governor:
    """Decides when the next call may go, across all runs that share the key and endpoint."""

    def __init__(  # noqa: PLR0913 - one object per key, made in one place
        self,
        limits: Limits,
        *,
        clock: Callable[[], float] = time.monotonic,
        lag: Callable[[], float] = lambda: 0.0,
        shared: SharedKey | None = None,
        share: float = 1.0,
        on_push_back: Callable[[float | None], None] | None = None,
    ) -> None:
        """Start with the limits of one entry.

        Args:
            limits: The configured limits.
            clock: Returns seconds.
            lag: Returns how many seconds late the event loop runs. Without it, a saturated client would mistake its own
                delay for the service's latency and throttle itself.
            shared: The key in the store, if its limits are kept together with other processes.
            share: The share of every limit that is this process's, if several processes make the calls of a run.
            on_push_back: Told if all calls slow down after a 429, with the seconds that the service asks to wait.
        """
        self._share, self._on_push_back = share, on_push_back
        self.cap = self._part(DEFAULT_CONCURRENCY)
        self.limit = float(self._part(_START))
        self.in_flight = 0
        self._clock, self._lag, self._shared = clock, lag, shared
        self._lanes: list[Lane] = []
        self._turns = self._waiting = 0
        self._timer: asyncio.TimerHandle | None = None
        self._held_until = 0.0
        self._configured_cap: int | None = None
        self._requests: Rate | None = None
        self._tokens: Rate | None = None
        self._fixed_requests = self._fixed_tokens = False
        self._latency = Latency()
        self._pace = Pace()
        self._pushed_back = False
        self._last_cut = self._last_event = -math.inf
        self._refused_share, self._recent = 0.0, float(_FEW_CALLS)
        self._crowded_at = -math.inf
        self._limited_for, self._limited_since = 0.0, math.inf
        self.join(limits)

    @property
    def counts_tokens(self) -> bool:
        return self._tokens is not None

    def join(self, limits: Limits, wanted: int | None = None) -> None:
        """Apply the limits of another entry as well; if several entries share a key, the strictest limit applies.

        Args:
            limits: The entry's limits.
            wanted: How many calls a run wants in flight. Ignored if an entry sets `max_concurrency`.
        """
        if most := limits.max_concurrency and self._part(limits.max_concurrency):
            self._configured_cap = min(most, self._configured_cap or most)
        self.cap = self._configured_cap or max(self.cap, wanted or 0)
        self.limit = min(self.limit, float(self.cap))
        if rate := limits.requests_per_minute:
            self._requests = self._stricter(self._requests, "requests", rate * self._share, fixed=self._fixed_requests)
            self._fixed_requests = True
        if rate := limits.tokens_per_minute:
            self._tokens = self._stricter(self._tokens, "tokens", rate * self._share, fixed=self._fixed_tokens)
            self._fixed_tokens = True

    def open_lane(self, cap: int | None = None) -> Lane:
        """Add a lane for one run, with at most `cap` calls in flight."""
        lane = Lane(cap or DEFAULT_CONCURRENCY, lambda: self.limit)
        self._lanes.append(lane)
        return lane

    def close_lane(self, lane: Lane) -> None:
        """Remove the lane of a run that has ended. None of its calls may be waiting."""
        self._lanes.remove(lane)

    def try_enter(self, lane: Lane, tokens: float) -> bool:
        """Return whether a call may go immediately; if so, it counts as in flight. It never overtakes waiting calls."""
        if (
            self._waiting
            or self.in_flight + 1 > self.limit
            or lane.in_flight >= lane.cap
            or self._wait_for_budget() > 0
        ):
            return False
        self._admit(lane, tokens)
        return True

    async def enter(self, lane: Lane, tokens: float, *, urgent: bool = False, wait: Wait = plain_wait) -> None:
        """Wait until a call may go: runs take turns; of one run, urgent calls go first, others in order of arrival."""
        waiting = WaitingCall(asyncio.get_running_loop().create_future(), tokens)
        queue = lane.urgent if urgent else lane.others
        queue.append(waiting)
        self._waiting += 1
        self._pump()
        try:
            await wait(waiting.future)
        except BaseException:
            if waiting.future.done() and not waiting.future.cancelled() and not waiting.future.exception():
                self.leave(lane)  # admitted at the same moment; free its place for the next call
            else:
                with suppress(ValueError):
                    queue.remove(waiting)
                    self._waiting -= 1
                self._pump()
            raise

    def leave(self, lane: Lane) -> None:
        """Note that a call has ended, successful or not."""
        self.in_flight -= 1
        lane.in_flight -= 1
        if self._waiting:
            self._pump()

    def limited_seconds(self) -> float:
        """Total seconds that calls have waited because of a rate limit or a 429.

        Waiting for other calls to end because of our own cap or low starting limit does not count.
        """
        return self._limited_for + max(0.0, self._clock() - self._limited_since)

    def succeeded(self, seconds: float, began: float, estimate: float = 0.0, usage: Usage | None = None) -> None:
        """Learn from an answer that has just arrived. Call before `leave`.

        Args:
            seconds: How long it took.
            began: When the try started.
            estimate: Expected tokens.
            usage: Actual tokens.
        """
        now = began + seconds
        self._pace.answered(now)
        if self._refused_share:
            self._refused_share -= self._refused_share / self._recent
        if self._recent < _MANY_CALLS:
            self._recent += 0.05
        if self._tokens is not None and usage is not None:
            self._correct(self._tokens, estimate, usage)
        lag = 3 * self._lag()
        trend = self._latency.add(seconds - lag if seconds > lag else 0.0)
        if trend > _MUCH_SLOWER and self.limit > _START:
            self._cut(began, 0.9, at_least=_START)
        elif self.limit < self.cap and trend < _SLOWER and self._crowded_at >= began:
            step = max(1.0, self.limit * _REGROWTH) / self.limit if self._pushed_back else _GROWTH
            self.limit = min(float(self.cap), self.limit + step)
        if self._requests is not None and not self._fixed_requests:
            self._requests.set_rate(self._pace.grow(self._requests.per_second, now) * 60)

    @staticmethod
    def _correct(bucket: Rate, estimate: float, usage: Usage) -> None:
        if usage.input_tokens is not None and usage.output_tokens is not None:
            bucket.take(usage.input_tokens + usage.output_tokens - estimate)

    def pushed_back(self, began: float, hold: float | None) -> None:
        """Learn from a 429. A burst of them counts as one event.

        If 429s are rare, only the refused call waits. Otherwise all calls wait, fewer are in flight, and they go at the
        rate the service is known to sustain.

        Args:
            began: When the try started.
            hold: How many seconds the service asks to wait.
        """
        now = self._clock()
        self._refused_share += (1 - self._refused_share) / self._recent
        serious = self._refused_share > _REAL_LIMIT
        if hold is not None and serious:
            self.hold(hold)
            if self._shared is not None:
                self._shared.hold(hold)
        if began < self._last_event or not serious:
            return
        self._last_event = now
        self._slow_down(now, began)
        if self._on_push_back is not None:
            self._on_push_back(hold)

    def pushed_back_elsewhere(self, hold: float | None) -> None:
        """Slow down like another process that got a 429 for the same key.

        Args:
            hold: How many seconds the service asks to wait.
        """
        now = self._clock()
        if hold is not None:
            self.hold(hold)
        if now > self._last_event:
            self._last_event = now
            self._slow_down(now, now)

    def _slow_down(self, now: float, began: float) -> None:
        self._pushed_back = True
        self._cut(began, _CUT, at_least=1 if self._refused_share > _HARD_LIMIT else _FEW)
        if not self._fixed_requests and (pace := self._pace.learn(now)):
            self._requests = self._requests or Bucket(pace * 60, 0.1)
            self._requests.set_rate(pace * 60)

    def hold(self, seconds: float) -> None:
        """Let no call go for so long."""
        self._held_until = max(self._held_until, self._clock() + seconds)

    def learn(self, requests_per_minute: float | None, tokens_per_minute: float | None) -> None:
        """Adopt limits from rate-limit headers, unless configured. None means not stated, infinity no limit."""
        requests_per_minute = requests_per_minute and requests_per_minute * self._share
        tokens_per_minute = tokens_per_minute and tokens_per_minute * self._share
        if requests_per_minute and not self._fixed_requests:
            if requests_per_minute != math.inf:
                if self._requests is None or (self._shared and not self._pace.stated):
                    self._requests = self._rate("requests", requests_per_minute)
                self._requests.set_rate(requests_per_minute)
                self._pace.stated = True
            elif self._pace.stated:  # the assumed limit per minute turned out to be per day
                self._requests, self._pace.stated = None, False
        if tokens_per_minute and not self._fixed_tokens:
            if tokens_per_minute != math.inf:
                self._tokens = self._tokens or self._rate("tokens", tokens_per_minute)
                self._tokens.set_rate(tokens_per_minute)
            else:
                self._tokens = None

    def _part(self, count: int) -> int:
        return max(1, int(count * self._share))

    def _cut(self, began: float, share: float, *, at_least: float) -> None:
        if began >= self._last_cut:  # otherwise it was sent before the last cut took effect
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

    def _admit(self, lane: Lane, tokens: float) -> None:
        self.in_flight += 1
        lane.in_flight += 1
        now = self._clock()
        self._pace.started(now)
        if self.in_flight >= self.limit // 1 * 0.8:
            self._crowded_at = now
        if self._requests is not None:
            self._requests.take(1)
        if self._tokens is not None:
            self._tokens.take(tokens)

    def _pump(self) -> None:
        """Admit all calls that may go now, and schedule the next check for when the rate limits allow another."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        limited = False
        while self._waiting and (lane := next_lane(self._lanes)):
            if self.in_flight >= int(self.limit):
                limited = self._pushed_back and self.limit < self.cap
                break
            queue = lane.urgent or lane.others
            if not queue[0].future.done():  # otherwise it was given up while waiting
                if (wait := self._wait_for_budget()) > 0:
                    self._timer = asyncio.get_running_loop().call_later(wait, self._pump)
                    limited = True
                    break
                self._admit(lane, queue[0].tokens)
                queue[0].future.set_result(None)
                self._turns += 1
                lane.turn = self._turns
            queue.popleft()
            self._waiting -= 1
        self._note(limited=limited)

    def _note(self, *, limited: bool) -> None:
        """Record whether calls now wait because of a rate limit."""
        if limited and self._limited_since == math.inf:
            self._limited_since = self._clock()
        elif not limited and self._limited_since != math.inf:
            self._limited_for, self._limited_since = self.limited_seconds(), math.inf

    def _stricter(self, rate: Rate | None, kind: LimitKind, per_minute: float, *, fixed: bool) -> Rate:
        """Set the rate to this one, unless its own is configured and lower."""
        if rate is None or (self._shared is not None and not fixed):
            return self._rate(kind, per_minute)
        rate.set_rate(min(per_minute, rate.per_second * 60) if fixed else per_minute)
        return rate

    def _rate(self, kind: LimitKind, per_minute: float) -> Rate:
        """Make a limit that applies to the key as a whole."""
        if self._shared is None:
            return Bucket(per_minute, BURST[kind])
        return SharedBucket(self._shared, kind, per_minute, self._clock, self._pump)
