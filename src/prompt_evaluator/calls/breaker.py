"""Circuit breaker: once every call fails, no more are made until some time has passed."""

from __future__ import annotations

import math
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from prompt_evaluator.calls.retry import sentence
from prompt_evaluator.calls.stop import Waiters, plain_wait
from prompt_evaluator.errors import CircuitOpenError, RateLimitedError, UnreachableError
from prompt_evaluator.model.wording import kinds, many

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from prompt_evaluator.calls.stop import Wait
    from prompt_evaluator.errors import ProviderError

_FAILURES_IN_A_ROW = 20
_SEVERAL = 3
"""A question or two may be such that nobody can answer them."""
_REACHED_AFTER = 3.0
"""Seconds within which a service has to be reached at first: enough for a local server to start."""
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 300.0
"""Seconds until an open circuit lets one call through, which closes it or keeps it open for twice as long."""
_BETWEEN = 30.0
"""How many seconds between two tries count as time without an answer at most, in addition to the requested wait and the
second try itself. For the rest of the time there was nothing to send, or the machine was asleep."""
_LONGEST_WAIT = 1e8
"""Seconds; a service that asks for more has no sensible clock."""


class Breaker:
    """Opens when calls of one kind (a model, for answers or for judgements) cannot be expected to succeed.

    It opens if the first call is hopeless: a wrong key, an unknown model, or an address where nobody is; after many
    failed calls in a row; and after `give_up_after` seconds in which tries failed and none was answered, or as soon as
    the service asks for a wait that would exceed them.

    An open circuit refuses new calls and fails waiting ones. After a pause it lets one call through on trial. An answer
    to any call closes it.
    """

    def __init__(self, provider: str, clock: Callable[[], float] = time.monotonic, *, asked: str = "") -> None:
        """Create a closed circuit; `asked` is the model and endpoint, for messages."""
        self._provider, self._clock, self._asked = provider, clock, asked or provider
        self._answered = self._reached = False
        self._failures = 0
        self._reason = ""
        self._status: int | None = None
        self._refuses_until, self._pause = 0.0, _FIRST_PAUSE
        self._on_trial = False
        self._waiters = Waiters()
        self.is_open = False
        self._forget_tries()

    def _forget_tries(self) -> None:
        self._causes: Counter[str] = Counter()
        """How many tries have failed since the last answer, by class of the error."""
        self._questions: list[object] = []
        """What some of them asked."""
        self._silent = self._last = self._asked_wait = 0.0
        """Seconds from the end of the first failed try to the end of the last; when that was; and the wait that it was
        asked for."""

    def check(self) -> None:
        """Raise `CircuitOpenError` if the circuit is open."""
        if self.is_open:
            raise self._error()

    def admit(self) -> bool:
        """Return whether the call is on trial, in which case its outcome must be reported. Raise if it is refused."""
        if self.is_open:
            if self._on_trial or self._clock() < self._refuses_until:
                self.check()
            self._on_trial = True
        return self._on_trial

    async def wait(self, future: asyncio.Future[None], wait: Wait = plain_wait) -> None:
        """Wait for the future; if the circuit opens first, the future fails with `CircuitOpenError`."""
        await self._waiters.wait(future, wait)

    def succeeded(self) -> None:
        self._answered = True
        if self._failures or self._causes:
            self._failures = 0
            self._forget_tries()
        if self.is_open:
            self.is_open, self._pause, self._on_trial = False, _FIRST_PAUSE, False

    def try_failed(self, error: ProviderError, question: object, *, took: float, give_up_after: float) -> None:
        """Count a failed try that may be retried; it `took` so many seconds."""
        if self.is_open:
            return
        now, asked = self._clock(), min(error.retry_after or 0.0, _LONGEST_WAIT)
        if self._causes:
            self._silent += min(now - self._last, self._asked_wait + took + _BETWEEN)
        self._last, self._asked_wait = now, asked
        self._causes[type(error).__name__] += 1
        if len(self._questions) < _SEVERAL and question not in self._questions:
            self._questions.append(question)
        if self.is_unreached(error):
            if self._silent >= _REACHED_AFTER:
                self._open(self._never_reached(error))
            return
        self._reached = True
        limited, is_late = isinstance(error, RateLimitedError), self._silent >= give_up_after
        several = len(self._questions) == _SEVERAL or (limited and not self._answered)
        if (several and self._silent + asked >= give_up_after) or (limited and is_late):
            self._open(self._silence(error, 0.0 if is_late else asked), error.status)

    def is_unreached(self, error: ProviderError) -> bool:
        """Whether no call has ever reached the service: its address is wrong, or it is not running."""
        return isinstance(error, UnreachableError) and not (self._reached or self._answered)

    def failed(self, error: ProviderError, *, on_trial: bool = False) -> None:
        """Count a call that failed after all its tries."""
        if self.is_open and not on_trial:
            return
        self._failures += 1
        if on_trial and self.is_open:  # an answer may have closed it meanwhile
            self._pause = min(_LONGEST_PAUSE, self._pause * 2)
            self._open(f"stopped again after a trial, which failed: {sentence(error)}")
        elif self.is_unreached(error):
            self._open(self._never_reached(error))
        elif error.hopeless and not self._answered:
            self._open(f"stopped, because no call can succeed: {sentence(error)}")
        elif self._failures >= _FAILURES_IN_A_ROW:
            self._open(f"stopped after {self._failures} failures in a row, the last: {sentence(error)}")
        self._reached = self._reached or not isinstance(error, UnreachableError)

    def gave_up(self) -> None:
        """Note that the call on trial ended without a result, so the next call is on trial."""
        self._on_trial = False

    def _never_reached(self, error: ProviderError) -> str:
        advice = error.advice if isinstance(error, UnreachableError) else ""
        return f"stopped, because {self._asked} could not be reached: {sentence(error)} {advice}".rstrip()

    def _silence(self, error: ProviderError, asked: float) -> str:
        tries = f"{many(self._causes.total(), 'try', 'tries')}: {kinds(self._causes)}"
        silent = f"stopped, because {self._asked} has not answered for {self._silent:,.0f} s ({tries})"
        if asked:
            return f"{silent} and asks to wait {asked:,.0f} s more. The last: {sentence(error)} {_try_again(asked)}"
        return f"{silent}. The last: {sentence(error)} Try again when it answers, or set a longer give_up_after."

    def _open(self, reason: str, status: int | None = None) -> None:
        self.is_open, self._reason, self._status, self._on_trial = True, reason, status, False
        self._forget_tries()
        self._refuses_until = self._clock() + self._pause
        self._waiters.end(self._error)

    def _error(self) -> CircuitOpenError:
        return CircuitOpenError(self._reason, provider=self._provider, status=self._status)


def _try_again(seconds: float) -> str:
    then = datetime.now(UTC) + timedelta(minutes=math.ceil(seconds / 60))
    return f"Try again after {then:%Y-%m-%d %H:%M} UTC."
