"""Circuit breaker: once every call fails, no more are made until some time has passed."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from prompt_evaluator.errors import CircuitOpenError, UnreachableError
from prompt_evaluator.model.wording import kinds, many
from prompt_evaluator.providers.calls.failing import FailingTries
from prompt_evaluator.providers.calls.reach import PATIENCE, Reach
from prompt_evaluator.providers.calls.retrying import sentence
from prompt_evaluator.providers.calls.stop import Waiters, plain_wait

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from prompt_evaluator.errors import ProviderError
    from prompt_evaluator.providers.calls.stop import Wait

_FAILURES_IN_A_ROW = 20
_FEW = 3
"""A single refusal may be due to a single case."""
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 300.0
"""Seconds until an open circuit lets one call through, which closes it or keeps it open for twice as long."""
_MONTH = 30 * 24 * 3600.0


class Breaker:
    """Opens when calls of one kind (a model, for answers or for judgements) cannot be expected to succeed.

    It opens at the first hopeless error if no call ever succeeded, otherwise at three without an answer in between;
    after a few seconds if the service was never reached; after many failed calls in a row; after `give_up_after`
    seconds of failed tries without an answer; and as soon as the service asks for a wait that would exceed them.

    An open circuit refuses new calls and fails waiting ones. After a pause it lets one call through on trial. An answer
    to any call closes it.
    """

    def __init__(
        self,
        provider: str,
        clock: Callable[[], float] = time.monotonic,
        *,
        asked: str = "",
        reach: Reach | None = None,
    ) -> None:
        """Create a closed circuit.

        Args:
            provider: The provider's name.
            clock: Returns seconds.
            asked: The model and endpoint, for messages; by default the provider's name.
            reach: Shared by all breakers of the same entry.
        """
        self.reach = reach or Reach()
        self._provider, self._clock, self._asked = provider, clock, asked or provider
        self._answers = self._failures = self._hopeless = 0
        self._failing: FailingTries | None = None
        self._reason = ""
        self._status: int | None = None
        self._refuses_until, self._pause = 0.0, _FIRST_PAUSE
        self._on_trial = False
        self._waiters = Waiters()
        self.is_open = False

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
        self._answers += 1
        if not self.reach.ever:
            self.reach.reached()
        if self._failures or self._failing is not None:
            self._failures = self._hopeless = 0
            self._failing = None
        if self.is_open:
            self.is_open, self._pause, self._on_trial = False, _FIRST_PAUSE, False

    def try_failed(self, error: ProviderError, question: object, *, took: float, give_up_after: float) -> None:
        """Count a failed try that may be retried.

        Args:
            error: Why it failed.
            question: The messages sent.
            took: How many seconds the try took.
            give_up_after: Seconds without an answer after which the circuit opens.
        """
        if self.is_open:
            return
        self._failing = failing = self._failing or FailingTries()
        failing.add(error, question, now=self._clock(), took=took)
        if not isinstance(error, UnreachableError):
            self.reach.reached()
        elif not self.reach.ever:
            self.reach.missed()
            if (failing.unreached_for or 0.0) >= PATIENCE:
                self._open(self._never_reached(error))
            return
        asked = error.retry_after or 0.0
        in_vain = 0 < asked <= give_up_after < failing.seconds_at_next
        if (in_vain or failing.seconds >= give_up_after) and failing.concerns_all:
            more = f" and asks to wait {asked:,.3g} s more" if in_vain else ""
            self._open(
                f"stopped, because {self._asked} has not answered for {failing.seconds:,.0f} s "
                f"({many(failing.causes.total(), 'try', 'tries')}: {kinds(failing.causes)}){more}. The last: "
                f"{sentence(error)} Try again when it answers, or set a longer give_up_after.",
                error.status,
            )
        elif asked > give_up_after:
            failing.long_waits += 1
            if not self._answers or failing.long_waits >= _FEW:
                self._open(
                    f"stopped, because {self._asked} asks to wait {asked:,.0f} s, longer than give_up_after "
                    f"({give_up_after:,g} s). It said: {sentence(error)} Try again {_when(asked)}.",
                    error.status,
                )

    @property
    def nobody_is_answered(self) -> bool:
        """Whether several different questions have failed since the last answer, so that the circuit may open soon."""
        return self._failing is not None and self._failing.of_several

    def failed(self, error: ProviderError, *, on_trial: bool = False) -> None:
        """Count a call that failed after all its tries."""
        if self.is_open and not on_trial:
            return
        on_trial = on_trial and self.is_open  # an answer may have closed the circuit meanwhile
        self._failures += 1
        self._hopeless += error.hopeless
        if error.status is not None:
            self.reach.reached()
        if on_trial:
            self._pause = min(_LONGEST_PAUSE, self._pause * 2)
            self._open(f"stopped again after a trial, which failed: {sentence(error)}")
        elif isinstance(error, UnreachableError) and not self.reach.ever:
            self._open(self._never_reached(error))
        elif self._hopeless and not self._answers:
            self._open(f"stopped, because no call can succeed: {sentence(error)}")
        elif self._hopeless >= _FEW or self._failures >= _FAILURES_IN_A_ROW:
            self._open(f"stopped after {self._failures} failures in a row, the last: {sentence(error)}")

    def gave_up(self) -> None:
        """Note that the call on trial ended without a result, so the next call is on trial."""
        self._on_trial = False

    def _never_reached(self, error: UnreachableError) -> str:
        return f"stopped, because {self._asked} could not be reached: {sentence(error)} {error.advice}".rstrip()

    def _open(self, reason: str, status: int | None = None) -> None:
        self.is_open, self._reason, self._status, self._on_trial = True, reason, status, False
        self._failing = None
        self._refuses_until = self._clock() + self._pause
        self._waiters.end(self._error)

    def _error(self) -> CircuitOpenError:
        return CircuitOpenError(self._reason, provider=self._provider, status=self._status)


class Breakers:
    """The breakers of one entry: one per model, with separate ones for answers and judgements.

    A judge that never answers is hopeless even if the generator with the same key works.
    """

    def __init__(self, provider: str, endpoint: str, clock: Callable[[], float]) -> None:
        self._provider, self._endpoint, self._clock = provider, endpoint, clock
        self._by_kind: dict[tuple[str, bool], Breaker] = {}
        self._reach = Reach()

    def of(self, model: str, *, urgent: bool) -> Breaker:
        if (model, urgent) not in self._by_kind:
            asked = f"{model} at {self._endpoint}" if self._endpoint else model
            self._by_kind[model, urgent] = Breaker(self._provider, self._clock, asked=asked, reach=self._reach)
        return self._by_kind[model, urgent]


def _when(seconds: float) -> str:
    """Describe the time that is this many seconds from now."""
    if seconds > _MONTH:
        return "in some months"
    then = datetime.now(UTC) + timedelta(minutes=math.ceil(seconds / 60))
    return f"after {then:%Y-%m-%d %H:%M} UTC"
