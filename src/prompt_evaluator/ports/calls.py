"""What makes calls to models, and what limits them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model import Answer, Request


class Provider(Protocol):
    """Turns a request into an answer in one try. Limits, retries, budget and accounting are up to the caller.

    A provider may also have `check(model)`, `fingerprint(model)` and attributes that describe it: see
    `providers/calls/traits.py`.
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


class SharedLimits(Protocol):
    """Rate limits that processes with one store keep together.

    A limit is a line of time: a process takes the next piece of it, as long as its calls take at the rate.
    Methods may be called from any thread, wait for the database, and raise `StoreError` if it cannot be reached.
    """

    def salt(self) -> bytes:
        """A random value, the same for all processes, to make a digest of a key with."""

    def reserve(self, key: str, kind: str, seconds: float, slack: float) -> float:
        """Take the next `seconds` of a limit's time; a negative number gives some back.

        Args:
            key: A digest of the key.
            kind: What is limited, such as `requests`.
            seconds: The amount divided by the rate.
            slack: How many of the last seconds may still be taken, if nobody did.

        Returns:
            In how many seconds the piece begins; negative if it has begun.
        """

    def hold(self, key: str, seconds: float) -> None:
        """Let nobody call with this key for so long, because the service has refused calls."""

    def held(self, keys: Sequence[str]) -> dict[str, float]:
        """For how many seconds more nobody may call, by key; only keys that are held."""


class Grant(NamedTuple):
    """What a budget gives."""

    amount: float
    """US dollars; less than was asked for if no more is left."""
    spent: float
    """What has been spent or reserved by all, with this."""


class SharedBudgets(Protocol):
    """Budgets that processes with one store keep together; used as `SharedLimits`."""

    def spend(self, period: str, amount: float, most: float) -> Grant:
        """Take up to `amount` of what is left of the budget `most` of a period, such as `day 2026-01-31`."""

    def correct_spending(self, period: str, difference: float) -> None:
        """Add to what was spent, or take back what was reserved and not spent."""

    def spending(self, period: str) -> float:
        """What was spent of a budget or is reserved."""
