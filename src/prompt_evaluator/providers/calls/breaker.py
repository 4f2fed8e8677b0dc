"""Ends a hopeless run early: when every call fails, the next ones are not made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.errors import CircuitOpenError

if TYPE_CHECKING:
    from prompt_evaluator.errors import ProviderError

_FAILURES_IN_A_ROW = 20


class Breaker:
    """Opens at the first hopeless error when nothing ever worked, or after many failures in a row. Never closes."""

    def __init__(self, provider: str) -> None:
        self._provider = provider
        self._answers = self._failures = self._hopeless = 0
        self._reason: str | None = None

    def check(self) -> None:
        """Raise when no more calls should be made."""
        if self._reason is not None:
            raise CircuitOpenError(self._reason, provider=self._provider)

    def succeeded(self) -> None:
        self._answers += 1
        self._failures = self._hopeless = 0

    def failed(self, error: ProviderError) -> None:
        """Count a call that has come to nothing, after all its tries."""
        if self._reason is not None:
            return
        self._failures += 1
        self._hopeless += error.hopeless
        sentence = str(error).removeprefix(f"{error.provider}: ")
        if self._hopeless and not self._answers:
            self._reason = f"stopped, because no call can succeed: {sentence}"
        elif self._hopeless >= 3 or self._failures >= _FAILURES_IN_A_ROW:  # noqa: PLR2004 - one 403 may be one case's
            self._reason = f"stopped after {self._failures} failures in a row, the last: {sentence}"
