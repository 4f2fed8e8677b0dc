"""What the rooms promise each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Any

    from prompt_evaluator.model import Answer, Message, Request, Score, Scores, TestCase, Unit


class Provider(Protocol):
    """Turns a request into an answer in one try. Whoever calls it brings limits, retries, budget and accounting.

    It may also have `check(model)` and `fingerprint(model)`, and attributes that say more about it: see
    `providers/calls/traits.py`.
    """

    @property
    def name(self) -> str:
        """What stands before the slash of a model's name."""

    @property
    def structured_output(self) -> bool:
        """Whether `response_schema` is a promise of the service, not a wish."""

    async def answer(self, request: Request, timeout: float) -> Answer:  # noqa: ASYNC109 - it knows best how to give up
        """One try, within so many seconds. Raise a `ProviderError` when there is no answer.

        May be called many times at once. Cancelling it takes effect at once and leaves nothing behind.
        """

    async def close(self) -> None:
        """Let go of connections and processes. No call may be under way or follow."""


class ModelClient(Protocol):
    """A provider behind its limits, retries, budget and accounting."""

    @property
    def name(self) -> str:
        """What stands before the slash of a model's name."""

    @property
    def structured_output(self) -> bool:
        """Whether `response_schema` is a promise of the service, not a wish."""

    async def complete(self, request: Request) -> Answer:
        """Raise a `ProviderError` when there is no answer after all tries; it concerns this call alone.

        Raises:
            BudgetSpentError: The run may not pay for the call.
            StoppedError: The run is being stopped, and the call can wait for another day.
        """


class Admission(Protocol):
    """Lets samples begin only when what they are expected to take can be paid for, so that each is also judged.

    `start` and `end` belong around all calls of one sample, in the task that makes them.
    """

    async def start(self, calls: int) -> None:
        """Wait until a sample may begin that is expected to take so many calls, and set them aside for it.

        Args:
            calls: Calls that are still to be made: 0 for a sample of which everything is there.

        Raises:
            BudgetSpentError: It does not fit into what is left, and nothing is under way that may give something back.
            StoppedError: The run is being stopped.
        """

    def end(self) -> None:
        """Give back what the sample did not use, whatever came of it."""


class JudgeClient(Protocol):
    """A judge that metrics may question: which model it is and how it is asked is decided elsewhere."""

    async def ask(
        self,
        messages: tuple[Message, ...],
        *,
        schema: dict[str, Any] | None = None,
        top_logprobs: int | None = None,
        sample: int = 0,
    ) -> Answer:
        """One reply. Raise `ProviderError`, and nothing else, when there is none."""


class Metric(Protocol):
    """Turns a case and an answer into a score with a reason; a rubric into several scores."""

    @property
    def name(self) -> str:
        """Its own name; a use of it may have another."""

    @property
    def needs_judge(self) -> bool: ...

    @property
    def threshold(self) -> float:
        """An answer passes at or above this score."""

    def definition(self) -> dict[str, Any]:
        """Everything about the metric that decides a score: with the answer and the judge, it names the unit.

        The threshold is no part of it: it says what a score means, not what it is.
        """

    def missing(self, case: TestCase) -> str | None:
        """What the case lacks, in words, so that any answer to it would be skipped; None when it can be scored."""

    async def prepared(self, judge: JudgeClient | None) -> Metric:
        """The metric made ready, such as with evaluation steps that the judge writes once; often itself."""

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score | Scores:
        """Never raises for what the case, the answer or the judge is like: that is `Skipped` or `Failed`."""


class Ledger(Protocol):
    """Where finished units go."""

    def put(self, unit: Unit) -> None:
        """Take a unit at once; it is durable a moment later. Raise `StoreError` when nothing more can be kept."""

    async def wait_for_capacity(self) -> None:
        """Wait while too much is not yet durable."""
