"""Running totals and events of all calls, for progress displays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, Protocol

import msgspec

if TYPE_CHECKING:
    from prompt_evaluator.errors import ProviderError
    from prompt_evaluator.model import Answer


class CallEvent(msgspec.Struct, frozen=True, kw_only=True):
    """Something that happened to a call."""

    kind: Literal["started", "throttled", "retrying", "answered", "failed"]
    provider: str
    cause: str | None = None
    """The error's class, for `retrying` and `failed`."""
    seconds: float | None = None
    """How long it was held back by a rate limit or a 429 (`throttled`), will wait (`retrying`) or took (`answered`)."""


Listener = Callable[[CallEvent], None]


class Gauge(Protocol):
    """How many calls of a run are in flight with one key, and the current limit."""

    in_flight: int

    @property
    def limit(self) -> float: ...


class Meter:
    """Running totals, cheap to read at any time. A listener is notified of each event as it happens."""

    def __init__(self, listener: Listener | None = None) -> None:
        self._listener = self._on_retry = listener
        self.in_flight = self.calls = self.tries = self.answers = 0
        self.retries: Counter[str] = Counter()
        """By class of the error that caused them."""
        self.failures: Counter[str] = Counter()
        self.input_tokens = self.output_tokens = 0
        self.cost = 0.0
        """US dollars for all answers with a known price."""
        self.unpriced = 0
        """Answers without a known price."""
        self.time_outs = 0
        """Tries that timed out; they may have been billed."""
        self.throttled_seconds = self.busy_seconds = 0.0
        self.gauges: list[Gauge] = []
        """One for each combination of key and endpoint in use."""

    def on_retry(self, listener: Listener) -> None:
        """Notify this listener of retries only, because notifying it of every event slows down every call."""
        self._on_retry = listener

    @property
    def throttled_share(self) -> float:
        """Share of the calls' total time for which a rate limit or a 429 held them back.

        Time in the queue because of our own cap or low starting limit counts in neither.
        """
        total = self.throttled_seconds + self.busy_seconds
        return self.throttled_seconds / total if total else 0.0

    def started(self, provider: str) -> None:
        self.in_flight += 1
        self.calls += 1
        if self._listener:
            self._listener(CallEvent(kind="started", provider=provider))

    def throttled(self, provider: str, seconds: float) -> None:
        """Count the seconds for which a rate limit or a 429 held a call back."""
        if not seconds:
            return
        self.throttled_seconds += seconds
        if self._listener:
            self._listener(CallEvent(kind="throttled", provider=provider, seconds=seconds))

    def retrying(self, error: ProviderError, seconds: float) -> None:
        cause = type(error).__name__
        self.retries[cause] += 1
        if self._on_retry:
            self._on_retry(CallEvent(kind="retrying", provider=error.provider, cause=cause, seconds=seconds))

    def retried_elsewhere(self, event: CallEvent) -> None:
        """Tell the listener about a retry in another process, which is counted already."""
        if self._on_retry:
            self._on_retry(event)

    def answered(self, provider: str, answer: Answer, seconds: float) -> None:
        self.answers += 1
        self.input_tokens += answer.usage.input_tokens or 0
        self.output_tokens += answer.usage.output_tokens or 0
        if answer.cost is None:
            self.unpriced += 1
        else:
            self.cost += answer.cost
        if self._listener:
            self._listener(CallEvent(kind="answered", provider=provider, seconds=seconds))

    def failed(self, error: ProviderError) -> None:
        cause = type(error).__name__
        self.failures[cause] += 1
        if self._listener:
            self._listener(CallEvent(kind="failed", provider=error.provider, cause=cause))

    def ended(self) -> None:
        self.in_flight -= 1
