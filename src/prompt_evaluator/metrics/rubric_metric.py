"""A rubric as a metric: one judge call, one score per criterion, and flags."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from prompt_evaluator.errors import CircuitOpenError, ProviderError
from prompt_evaluator.metrics.judge_prompt import judgement_schema, system_message, user_message
from prompt_evaluator.metrics.judge_reply import UnreadableReply, read_scores
from prompt_evaluator.metrics.judging import ask_until_readable
from prompt_evaluator.model import UNREADABLE, Answer, Failed, ScoreScale, TestCase

if TYPE_CHECKING:
    from prompt_evaluator.model import Message, Rubric, Score, Scores
    from prompt_evaluator.ports import JudgeClient

_EMPTY = (TestCase(id="", input=""), Answer(text="", latency_ms=0, model=""))


class RubricMetric:
    """Applies one rubric. An unreadable reply is a failure: no score is guessed from it."""

    needs_judge: ClassVar[bool] = True
    metadata_keys: ClassVar[tuple[str, ...]] = ("context",)
    questions: ClassVar[int] = 1
    threshold: ClassVar[float] = 1.0

    def __init__(self, rubric: Rubric, instructions: str | None = None) -> None:
        """Apply a rubric; `instructions` replace the built-in ones."""
        self.name = f"rubric {rubric.name}"
        self._rubric = rubric
        self._system = system_message(rubric, instructions)
        self._schema = judgement_schema(rubric)
        self.scales: dict[str, ScoreScale] = {criterion.name: criterion.scale for criterion in rubric.metrics}
        """Maps score name to its scale."""

    @property
    def characters(self) -> int:
        """Length of the prompt without the case and the answer."""
        return len(self._system.content) + len(user_message(*_EMPTY).content)

    def definition(self) -> dict[str, Any]:
        """A digest of the whole prompt, which does not include the rubric's name and pass marks."""
        prompt = msgspec.json.encode((self._system, self._schema, user_message(*_EMPTY)))
        return {"metric": "rubric", "told": hashlib.sha256(prompt).hexdigest()}

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - the port's signature
        """Every answer can be judged."""
        return None

    async def prepared(self, judge: JudgeClient | None) -> RubricMetric:  # noqa: ARG002 - the port's signature
        return self

    async def score(self, case: TestCase, answer: Answer, judge: JudgeClient | None) -> Score | Scores:
        """Ask the judge, and ask again once if the reply is unreadable.

        Raises:
            CircuitOpenError: Calls have stopped, so the run ends. Any other failed call is returned as `Failed`.
        """
        if judge is None:
            return Failed("the rubric needs a judge, but none is configured", kind="ConfigurationError")
        messages: tuple[Message, ...] = (self._system, user_message(case, answer, case.passages))
        try:
            reply = await ask_until_readable(judge, messages, self._schema, self._read)
        except CircuitOpenError:
            raise
        except ProviderError as error:
            return Failed(str(error), kind=type(error).__name__)
        except UnreadableReply as error:
            return Failed(f"The judge's reply cannot be used: {error.reason}", kind=UNREADABLE)
        return reply.value

    def _read(self, text: str) -> Scores:
        return read_scores(text, self._rubric)
