"""Running totals of all calls, for progress displays and accounting."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.errors import ProviderError
    from prompt_evaluator.model import Usage


class RetryEvent(msgspec.Struct, frozen=True, kw_only=True):
    """A call is about to wait for its next try."""

    provider: str
    cause: str
    """The class of the error."""
    seconds: float
    """How long it will wait."""


class Gauge(Protocol):
    """How many calls of a run are in flight with one key, and the current limit."""

    in_flight: int

    @property
    def limit(self) -> float: ...


class Meter:
    """Running totals, cheap to read at any time."""

    def __init__(self) -> None:
        self.in_flight = self.calls = self.tries = self.answers = 0
        self.retries: Counter[str] = Counter()
        """By class of the error that caused them."""
        self.failures: Counter[str] = Counter()
        self.input_tokens = self.output_tokens = 0
        self.cost = 0.0
        """US dollars for everything with a known price."""
        self.unpriced = 0
        """Answers and billed failures without a known price."""
        self.time_outs = 0
        """Tries that timed out; they may have been billed."""
        self.throttled_seconds = self.busy_seconds = 0.0
        self.gauges: list[Gauge] = []
        """One for each combination of key and endpoint in use."""
        self.on_retry: Callable[[RetryEvent], None] = lambda _: None
        """Called before each retry, here or in another process."""

    @property
    def throttled_share(self) -> float:
        """Share of the calls' total time for which a rate limit or a 429 held them back.

        Time in the queue because of our own cap or low starting limit counts in neither.
        """
        total = self.throttled_seconds + self.busy_seconds
        return self.throttled_seconds / total if total else 0.0

    def retrying(self, error: ProviderError, seconds: float) -> None:
        cause = type(error).__name__
        self.retries[cause] += 1
        self.on_retry(RetryEvent(provider=error.provider, cause=cause, seconds=seconds))

    def billed(self, usage: Usage, cost: float | None) -> None:
        """Count what an answer, or a failure that was billed, has used."""
        self.input_tokens += usage.input_tokens or 0
        self.output_tokens += usage.output_tokens or 0
        if cost is None:
            self.unpriced += 1
        else:
            self.cost += cost
