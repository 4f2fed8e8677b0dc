"""Counts a run's progress: a few additions per sample, and a snapshot on request."""

from __future__ import annotations

import time
from collections import Counter, deque
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prompt_evaluator.app.calls import Meter, RetryEvent
    from prompt_evaluator.model import SampleStatus

_WINDOW = 30.0
"""Seconds over which the rate is measured: a resumed run counts stored samples at once, and services speed up or slow
down."""
_FIRST_RATE = 1.0
_TAIL = 0.05
_STALLED = 10.0
_INVALID = "judge_invalid_response"


class Waiting(NamedTuple):
    """A sample in progress."""

    case_id: str
    sample: int
    """Counted from 1, as in the artifacts."""
    seconds: float
    retry_cause: str | None = None
    retry_in: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A run at one moment."""

    seconds: float
    samples: int
    samples_done: int
    cases: int
    cases_done: int
    rate: float | None = None
    """Recent samples per second; None if it is too early to say."""
    in_flight: int = 0
    limit: int = 0
    """How many concurrent calls the services currently allow, as far as is known; 0 before the first call."""
    queued: int = 0
    """Calls waiting for their turn or for their next try."""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    unpriced: int = 0
    answers: int = 0
    throttled: float = 0.0
    """Share of call time spent waiting for a rate limit or after a 429."""
    time_outs: int = 0
    """Tries that timed out; they may have been paid for."""
    retries: Mapping[str, int]
    errors: Mapping[str, int]
    """Counts by error class."""
    unscored: int = 0
    """Samples that ended without a score."""
    idle: float = 0.0
    """Seconds since the last sample finished."""
    waiting: tuple[Waiting, ...] = ()
    """Samples in progress, longest first."""
    elsewhere: bool = False
    """Whether another process runs it; then nothing is known about its calls."""

    @property
    def left(self) -> int:
        return max(0, self.samples - self.samples_done)

    @property
    def share(self) -> float:
        return min(1.0, self.samples_done / self.samples) if self.samples else 1.0

    @property
    def eta(self) -> float | None:
        return self.left / self.rate if self.rate else None

    @property
    def in_tail(self) -> bool:
        """Whether what is still missing is worth naming."""
        return not self.elsewhere and bool(self.left) and (self.left < self.samples * _TAIL or self.idle >= _STALLED)


@dataclass(slots=True)
class _InProgress:
    case_id: str
    sample: int
    since: float
    retry_cause: str | None = None
    retry_at: float = 0.0


_current: ContextVar[_InProgress | None] = ContextVar("_current", default=None)
"""The sample that the current task works on."""


class Tally:
    """Counts progress. The event loop writes and the drawing thread reads, so every step is a single operation."""

    def __init__(self, meter: Meter, clock: Callable[[], float] = time.monotonic) -> None:
        self._meter, self._clock = meter, clock
        self._samples = self._done = self._cases = self._cases_done = self._unscored = self._invalid = 0
        self._start = self._last = clock()
        self._in_progress: dict[tuple[str, int], _InProgress] = {}
        self._history: deque[tuple[float, int]] = deque()
        meter.on_retry = self._retrying

    def started(self, *, samples: int, cases: int) -> None:
        self._samples, self._cases = samples, cases
        self._done = self._cases_done = self._unscored = self._invalid = 0
        self._start = self._last = self._clock()
        self._history.clear()
        self._in_progress.clear()

    def sample_started(self, case_id: str, sample: int) -> None:
        started = _InProgress(case_id, sample + 1, self._clock())
        self._in_progress[case_id, sample] = started
        _current.set(started)

    def sample_done(self, case_id: str, sample: int, status: SampleStatus) -> None:
        self._in_progress.pop((case_id, sample), None)
        self._done += 1
        self._last = self._clock()
        if status != "completed":
            self._unscored += 1
            self._invalid += status == _INVALID

    def case_done(self) -> None:
        self._cases_done += 1

    def view(self) -> View:
        now = self._clock()
        meter = self._meter
        errors = Counter(dict(meter.failures))
        if self._invalid:
            errors["InvalidJudgement"] += self._invalid
        in_flight = sum(gauge.in_flight for gauge in meter.gauges)
        return View(
            seconds=now - self._start,
            samples=self._samples,
            samples_done=self._done,
            cases=self._cases,
            cases_done=self._cases_done,
            rate=self._rate(now),
            in_flight=in_flight,
            queued=max(0, meter.in_flight - in_flight),
            limit=sum(int(gauge.limit) for gauge in meter.gauges),
            input_tokens=meter.input_tokens,
            output_tokens=meter.output_tokens,
            cost=meter.cost,
            unpriced=meter.unpriced,
            answers=meter.answers,
            throttled=meter.throttled_share,
            time_outs=meter.time_outs,
            retries=dict(meter.retries),
            errors=errors,
            unscored=self._unscored,
            idle=now - self._last,
            waiting=self._waiting(now),
        )

    def _rate(self, now: float) -> float | None:
        history = self._history
        history.append((now, self._done))
        while now - history[0][0] > _WINDOW:
            history.popleft()
        since, done = history[0] if now - self._start > _WINDOW else (self._start, 0)
        return (self._done - done) / (now - since) if now - since >= _FIRST_RATE else None

    def _waiting(self, now: float) -> tuple[Waiting, ...]:
        found = sorted(self._in_progress.values(), key=lambda item: item.since)
        return tuple(
            Waiting(item.case_id, item.sample, now - item.since, item.retry_cause, item.retry_at - now)
            if item.retry_at > now
            else Waiting(item.case_id, item.sample, now - item.since)
            for item in found
        )

    def _retrying(self, event: RetryEvent) -> None:
        """Note a retry. A sample's calls are made by the task that has started it."""
        if found := _current.get():
            found.retry_cause, found.retry_at = event.cause, self._clock() + event.seconds
