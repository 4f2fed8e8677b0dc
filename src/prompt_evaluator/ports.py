"""What the rooms promise each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from prompt_evaluator.model import Answer, Message, Request, RunRecord, Score, Scores, TestCase, Unit
    from prompt_evaluator.model.result import CaseResult, RunResult


class Provider(Protocol):
    """Turns a request into an answer."""

    @property
    def name(self) -> str:
        """What stands before the slash of a model's name."""

    @property
    def structured_output(self) -> bool:
        """Whether `response_schema` is a promise of the service, not a wish."""

    async def complete(self, request: Request) -> Answer:
        """Raise `ProviderError`, and nothing else, when there is no answer.

        May be called many times at once. Cancelling it takes effect at once and leaves nothing behind.
        """

    async def close(self) -> None:
        """Let go of connections and processes. No call may be under way or follow."""


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


class Filler(Protocol):
    """Makes the results of one run again from what the store has of it."""

    def add(self, cases: Sequence[TestCase], units: Mapping[str, Sequence[Unit]]) -> Sequence[CaseResult]:
        """The results of some cases, in their order. Cases come in file order; `units` are theirs, by case id."""

    @property
    def judges(self) -> Mapping[str, str]:
        """By score, the model of the judge that gave it; as far as the cases that were added tell."""

    def result(self) -> RunResult:
        """What the run comes to, once all cases were added."""


class Fill(Protocol):
    """What fills the result rows of a store that was made without them."""

    def __call__(self, record: RunRecord, prepared: Sequence[Unit]) -> Filler:
        """Begin with a run; `prepared` are its units that are about no case."""
