"""What scores answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from typing import Any

    from prompt_evaluator.model import Answer, Message, Score, Scores, TestCase


class JudgeClient(Protocol):
    """A judge for metrics to ask. Its model and parameters are decided elsewhere."""

    async def ask(
        self,
        messages: tuple[Message, ...],
        *,
        schema: dict[str, Any] | None = None,
        top_logprobs: int | None = None,
        sample: int = 0,
    ) -> Answer:
        """Return one reply. Raise `ProviderError`, and nothing else, if there is none."""


class Metric(Protocol):
    """Turns a case and an answer into a score with a reason; a rubric gives several scores."""

    @property
    def name(self) -> str:
        """The metric's own name; a `MetricUse` may rename it."""

    @property
    def needs_judge(self) -> bool: ...

    @property
    def threshold(self) -> float:
        """An answer passes at or above this score."""

    def definition(self) -> dict[str, Any]:
        """Everything about the metric that determines a score.

        Together with the answer and the judge, it names the unit. Leaves out the threshold, which decides what a score
        means, not what it is.
        """

    def missing(self, case: TestCase) -> str | None:
        """Say what the case lacks, so that any answer to it is skipped; None if it can be scored."""

    async def prepared(self, judge: JudgeClient | None) -> Metric:
        """Return the metric ready for use, such as with evaluation steps that the judge writes once; often itself."""

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score | Scores:
        """Never raise because of the case, the answer or the judge: return `Skipped` or `Failed`."""
