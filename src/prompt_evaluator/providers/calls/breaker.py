"""Ends a hopeless run early: when every call fails, the next ones are not made until some time has passed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from prompt_evaluator.errors import CircuitOpenError

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.errors import ProviderError

_FAILURES_IN_A_ROW = 20
_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 300.0
"""Seconds until an open circuit lets one call through, which then closes it or opens it for twice as long."""


class Breaker:
    """Opens at the first hopeless error when nothing ever worked, or after many failures in a row.

    Then calls are refused. After a pause one is let through on trial. An answer to any call closes the circuit again.
    """

    def __init__(self, provider: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._provider, self._clock = provider, clock
        self._answers = self._failures = self._hopeless = 0
        self._reason: str | None = None
        self._refuses_until, self._pause = 0.0, _FIRST_PAUSE
        self._on_trial = False

    @property
    def is_open(self) -> bool:
        return self._reason is not None

    def check(self) -> None:
        """Raise when no more calls should be made."""
        if self._reason is not None:
            raise CircuitOpenError(self._reason, provider=self._provider)

    def admit(self) -> bool:
        """Whether the call is one on trial, whose end has to be told; raises when it should not be made."""
        if self._reason is not None:
            if self._on_trial or self._clock() < self._refuses_until:
                self.check()
            self._on_trial = True
        return self._on_trial

    def succeeded(self) -> None:
        self._answers += 1
        self._failures = self._hopeless = 0
        if self._reason is not None:
            self._reason, self._pause, self._on_trial = None, _FIRST_PAUSE, False

    def failed(self, error: ProviderError, *, on_trial: bool = False) -> None:
        """Count a call that has come to nothing, after all its tries."""
        if self._reason is not None and not on_trial:
            return
        on_trial = on_trial and self._reason is not None  # else an answer has closed the circuit meanwhile
        self._failures += 1
        self._hopeless += error.hopeless
        sentence = str(error).removeprefix(f"{error.provider}: ")
        if on_trial:
            self._pause = min(_LONGEST_PAUSE, self._pause * 2)
            self._open(f"stopped again after a trial, which failed: {sentence}")
        elif self._hopeless and not self._answers:
            self._open(f"stopped, because no call can succeed: {sentence}")
        elif self._hopeless >= 3 or self._failures >= _FAILURES_IN_A_ROW:  # noqa: PLR2004 - one 403 may be one case's
            self._open(f"stopped after {self._failures} failures in a row, the last: {sentence}")

    def gave_up(self) -> None:
        """The call on trial ended without having shown anything; the next one is on trial."""
        self._on_trial = False

    def _open(self, reason: str) -> None:
        self._reason, self._on_trial = reason, False
        self._refuses_until = self._clock() + self._pause
