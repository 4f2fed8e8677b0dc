"""How long tries have failed without an answer. Only time spent trying counts, not idle hours."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prompt_evaluator.errors import RateLimitedError, UnreachableError

if TYPE_CHECKING:
    from prompt_evaluator.errors import ProviderError

_BETWEEN = 30.0
"""How many seconds between two tries count at most, in addition to the requested wait and the second try itself. For
the rest of the time there was nothing to send, or the machine was asleep."""
_SEVERAL = 3


class FailingTries:
    """The failed tries since the last answer."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """From the end of the first try to the end of the last."""
        self.causes: Counter[str] = Counter()
        """How many tries failed, by class of the error."""
        self.unreached_for: float | None = 0.0
        """Seconds since the start of the first try; None if a try has reached the service."""
        self.long_waits = 0
        """How many tries were asked to wait longer than `give_up_after`."""
        self._last: float | None = None
        self._asked_wait = 0.0
        self._next = 0.0
        """When the first of the failed tries will be repeated."""
        self._questions: list[object] = []
        self._rate_limited = False

    @property
    def of_several(self) -> bool:
        """Whether several different questions have failed, not just one or two that cannot be answered."""
        return len(self._questions) >= _SEVERAL

    @property
    def concerns_all(self) -> bool:
        """Whether the service is failing, rather than single questions."""
        return self._rate_limited or self.of_several

    @property
    def seconds_at_next(self) -> float:
        """How long tries will have failed when one is repeated, if no other call is answered meanwhile."""
        return self.seconds + max(0.0, self._next - (self._last or 0.0))

    def add(self, error: ProviderError, question: object, *, now: float, took: float) -> None:
        """Count a try that ended at `now` after `took` seconds; `question` identifies what was asked."""
        passed = took
        if self._last is not None:
            passed = min(now - self._last, self._asked_wait + took + _BETWEEN)
            self.seconds += passed
        if not isinstance(error, UnreachableError):
            self.unreached_for = None
        elif self.unreached_for is not None:
            self.unreached_for += passed
        if isinstance(error, RateLimitedError):
            self._rate_limited = True
        if len(self._questions) < _SEVERAL and question not in self._questions:
            self._questions.append(question)
        self._last, self._asked_wait = now, error.retry_after or 0.0
        due = now + (error.retry_after or _BETWEEN)
        self._next = min(self._next, due) if self._next > now else due
        self.causes[type(error).__name__] += 1
