"""The base of all errors, and those that end a run."""

from __future__ import annotations

from typing import ClassVar


class PromptEvaluatorError(Exception):
    """Base of every error this package raises on purpose; anything else is a bug."""

    exit_code: ClassVar[int] = 2
    """Exit code of a command that ends with this error."""
    time_outs: int = 0
    """How many tries of the failed call had timed out; they may have been billed."""
    cost: float | None = None
    """US dollars for tries of the failed call that the service has billed; None if there were none, as far as known."""


class IncomparableError(PromptEvaluatorError):
    """Two runs differ in what makes a comparison fair, or have no case in common."""

    exit_code: ClassVar[int] = 3


class BudgetSpentError(PromptEvaluatorError):
    """The next call would exceed the user's budget."""

    exit_code: ClassVar[int] = 3


class EngineError(PromptEvaluatorError):
    """The processes that a run's work was sent to cannot be started, or keep dying. The run can be resumed."""

    exit_code: ClassVar[int] = 3


class StoppedError(PromptEvaluatorError):
    """The run is stopping: calls in flight finish, and nothing new is started."""

    exit_code: ClassVar[int] = 3
