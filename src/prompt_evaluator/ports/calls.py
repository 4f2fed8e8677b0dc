"""What makes calls to models, and what limits them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prompt_evaluator.model import Answer, Request


class Provider(Protocol):
    """Turns a request into an answer in one try. Limits, retries, budget and accounting are up to the caller.

    A provider may also have `check(model)`, `fingerprint(model)` and attributes that describe it: see
    `Traits` in `calls/client.py`.
    """

    @property
    def name(self) -> str:
        """The part before the slash in a model's name."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - it knows best how to give up
        """Try once, for at most `timeout` seconds. Raise a `ProviderError` if there is no answer.

        May be called concurrently. Cancelling takes effect immediately and leaves nothing behind.
        """

    async def close(self) -> None:
        """Release connections and processes. No call may be in flight or follow."""


class ModelClient(Protocol):
    """A provider behind its limits, retries, budget and accounting."""

    @property
    def name(self) -> str:
        """The part before the slash in a model's name."""

    async def complete(self, request: Request) -> Answer:
        """Raise a `ProviderError` if there is no answer after all tries; it concerns this call alone.

        Raises:
            BudgetSpentError: The run's budget does not cover the call.
            StoppedError: The run is stopping, and the call can wait until it is resumed.
        """


class Admission(Protocol):
    """Lets a sample start only if the budget covers all its expected calls, so that every answer is also judged.

    Call `start` before and `end` after all calls of one sample, in the task that makes them.
    """

    async def start(self, calls: int) -> None:
        """Wait until the budget covers a sample's calls, then reserve them.

        Args:
            calls: Calls still to be made; 0 for a sample that is already complete.

        Raises:
            BudgetSpentError: The calls exceed the remaining budget, and no sample in progress can free any.
            StoppedError: The run is stopping.
        """

    def end(self) -> None:
        """Return what the sample did not use, whatever its outcome."""
