"""For how long tries have failed without one answer, by the tries: a clock on the wall counts idle hours as well."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prompt_evaluator.errors import RateLimitedError, UnreachableError

if TYPE_CHECKING:
    from prompt_evaluator.errors import ProviderError

_BETWEEN = 30.0
"""Seconds between two tries that count beside the second one and the wait that was asked for. In the rest there was
nothing to ask, or the machine was asleep."""
_SEVERAL = 3


class FailingTries:
    """Tries that have failed since the last answer."""

    def __init__(self) -> None:
        self.seconds = 0.0
        """From the end of the first of them to the end of the last."""
        self.causes: Counter[str] = Counter()
        """By the error's class."""
        self.unreached_for: float | None = 0.0
        """Seconds from the beginning of the first of them, if none has reached the service; else None."""
        self.long_waits = 0
        """How many of them were told to wait for longer than anybody would."""
        self._last: float | None = None
        self._asked_wait = 0.0
        self._questions: list[object] = []
        self._told_to_wait = False

    @property
    def of_several(self) -> bool:
        """Whether several different questions have failed: it is not about one or two that nobody could answer."""
        return len(self._questions) >= _SEVERAL

    @property
    def concerns_all(self) -> bool:
        """Whether it is the service that fails, and not what it was asked."""
        return self._told_to_wait or self.of_several

    def add(self, error: ProviderError, question: object, *, now: float, took: float) -> None:
        """Count a try that took so many seconds; `question` is what it asked."""
        passed = took
        if self._last is not None:
            passed = min(now - self._last, self._asked_wait + took + _BETWEEN)
            self.seconds += passed
        if not isinstance(error, UnreachableError):
            self.unreached_for = None
        elif self.unreached_for is not None:
            self.unreached_for += passed
        if isinstance(error, RateLimitedError):
            self._told_to_wait = True
        if len(self._questions) < _SEVERAL and question not in self._questions:
            self._questions.append(question)
        self._last, self._asked_wait = now, error.retry_after or 0.0
        self.causes[type(error).__name__] += 1
