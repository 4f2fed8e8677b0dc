"""G-Eval: criteria become evaluation steps, steps become a mark from 0 to 10, weighted by the judge's certainty.

The method is from Liu et al. 2023 (arXiv 2303.16634); which tokens count follows DeepEval.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, NamedTuple

import msgspec
from msgspec import Meta

from prompt_evaluator.errors import BadReplyError
from prompt_evaluator.metrics.judge_prompt import material, object_schema
from prompt_evaluator.metrics.judge_reply import UnreadableReply, shown
from prompt_evaluator.metrics.judging import (
    JudgedMetric,
    Question,
    ask,
    put_question,
    read_reason,
    read_texts,
    texts_question,
)
from prompt_evaluator.model import Answer, Failed, Score, Scored, TestCase

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.model import TokenChoice, ToolCall
    from prompt_evaluator.ports import JudgeClient, Metric

CORRECTNESS = """\
Whether the output agrees with the reference in its facts: what the reference says should be there and be right, and \
nothing in the output should contradict it. Other words, another order and further correct detail do not matter."""
_HIGHEST = 10
_TOP_LOGPROBS = 20
_LEAST_LOGPROB = math.log(0.01)
"""Less likely tokens are noise."""

_STEPS_TASK = """\
You prepare an evaluation. The part `criteria` says what is to be judged about an output that a model gave to an \
input%s. Write three or four evaluation steps that a careful judge can follow for \
any such output, in the order in which they are to be taken. Each step is one or two sentences that say what to look \
at, what to compare it with, and how much it weighs. The steps must follow from the criteria alone."""
_STEPS = texts_question("steps", _STEPS_TASK % ", where a reference shows a good answer")
_STEPS_WITHOUT_REFERENCE = texts_question("steps", _STEPS_TASK % "")
_FORM_TASK = """\
You are a careful and impartial judge. Follow the evaluation steps below for the material that you are shown, and give \
a mark: a whole number from 0 (the steps find nothing right) to 10 (they find nothing wrong). First write down in a \
sentence or two what the steps have shown, then the mark that follows from it. An empty output is an output too.

# The evaluation steps"""
_FORM_SCHEMA = object_schema(
    {"reason": {"type": "string"}, "score": {"type": "integer", "minimum": 0, "maximum": _HIGHEST}}
)
_FORM_EXAMPLE = '{"reason": "<what the steps have shown>", "score": <whole number, 0 to 10>}'
_TOOL_STEPS = (
    "Match each call in `expected_calls` with one in `calls_made`; its name must be the same or mean the same.",
    "Compare the arguments of matched calls: another spelling or format of a value is right, another value is wrong.",
    "Expected arguments that are null allow any; a key with $, such as $contains, says how a value may differ.",
    "Check the order where one call needs the result of another, and look for calls that nobody asked for.",
    "Missing and wrong calls weigh most, then wrong arguments, then order, then harmless extra calls.",
)


class Grade(NamedTuple):
    """One mark given by a judge."""

    value: int | float
    reason: str


class GEval(JudgedMetric, frozen=True, kw_only=True):
    """Base of the metrics that use evaluation steps."""

    reads_answer: ClassVar[bool] = False
    steps_question: ClassVar[Question]

    criteria: Annotated[str, msgspec.Meta(pattern=r"\S")] | None = None
    """What to judge; the judge writes evaluation steps from it."""
    steps: tuple[Annotated[str, msgspec.Meta(pattern=r"\S")], ...] = ()
    """Evaluation steps to use instead of letting the judge write them."""
    samples: Annotated[int, Meta(ge=1, le=100)] = 1
    """How many judgements to average if the judge's log-probabilities are not available."""

    @property
    def questions(self) -> int:
        return self.samples

    def definition(self) -> dict[str, Any]:
        """The options including defaults, the steps, and digests of the judge prompts."""
        criteria = self.criteria if self.steps else self.wanted()
        return {**super().definition(), "criteria": criteria}

    def preparation(self) -> dict[str, Any]:
        """Only what the steps depend on, so that changing `samples` does not cause new steps to be written."""
        return {"metric": self.name, "criteria": self.wanted(), "prompt": self.steps_question.digest()}

    def _prompts(self) -> dict[str, str]:
        return {question.name: question.digest() for question in (self.steps_question, _form(()))}

    def wanted(self) -> str:
        """The criteria as text."""
        return self.criteria or ""

    async def prepared(self, judge: JudgeClient | None) -> Metric:
        """Return the metric with evaluation steps, which the judge writes once.

        Raises:
            ProviderError: The judge gave no steps, so nothing can be judged.
        """
        if self.steps or judge is None or not self.wanted():
            return self
        try:
            steps = await put_question(judge, self.steps_question, {"criteria": self.wanted()}, _read_steps)
        except UnreadableReply as error:
            raise BadReplyError(
                f"No evaluation steps for {self.name}: {error.reason}. Try again, or give the steps.", provider="judge"
            ) from None
        return msgspec.structs.replace(self, steps=steps.value)

    async def judged(self, case: TestCase, answer: Answer, judge: JudgeClient) -> Score:
        """Give a mark by the steps; if the metric was not prepared, have the judge write them first."""
        steps = self.steps
        if not steps:
            written = await ask(judge, self.steps_question, {"criteria": self.wanted()}, _read_steps)
            if isinstance(written, Failed):
                return written
            steps = written.value
        return await judge_by_steps(judge, steps, material(case, answer), samples=self.samples)


class Correctness(GEval, frozen=True, kw_only=True):
    """How well the facts in the answer agree with the expected output (G-Eval)."""

    name: ClassVar[str] = "correctness"
    needs: ClassVar[tuple[str, ...]] = ("reference",)
    steps_question: ClassVar[Question] = _STEPS

    def wanted(self) -> str:
        return self.criteria or CORRECTNESS


class Criteria(GEval, frozen=True, kw_only=True):
    """How well the answer meets your own `criteria`, with or without a reference (G-Eval)."""

    name: ClassVar[str] = "criteria"
    needs: ClassVar[tuple[str, ...]] = ("criteria or steps",)
    steps_question: ClassVar[Question] = _STEPS_WITHOUT_REFERENCE

    def missing(self, case: TestCase) -> str | None:  # noqa: ARG002 - criteria are an option
        return None if self.criteria or self.steps else "the case gives no criteria"


async def judge_tools(
    expected: Sequence[Any],
    made: Sequence[ToolCall],
    asking: JudgeClient,
    *,
    question: str | None = None,
    samples: int = 1,
) -> Score:
    """Judge how well the tool calls match the expected ones, for calls that rules cannot decide.

    Args:
        expected: Expected calls, in any form that encodes to JSON: `{name, args}`, `ToolCall`.
        made: The model's calls, in order.
        asking: The judge.
        question: What the model was asked.
        samples: As in `Correctness`.

    Raises:
        CircuitOpenError: Calls have stopped, so the run ends.
    """
    parts = {"input": question} if question else {}
    parts |= {"expected_calls": _calls(expected), "calls_made": _calls(made)}
    return await judge_by_steps(asking, _TOOL_STEPS, parts, samples=samples)


async def judge_by_steps(
    judge: JudgeClient, steps: Sequence[str], parts: Mapping[str, str], *, samples: int = 1
) -> Score:
    """A score from 0 to 1, weighted by the judge's log-probabilities; without them, the mean of `samples` marks."""
    form = _form(steps)
    marks: list[Grade] = []
    for sample in range(samples):
        reply = await ask(judge, form, parts, _read_mark, top_logprobs=_TOP_LOGPROBS, sample=sample)
        if isinstance(reply, Failed):
            return reply
        mark = reply.value
        if not marks and (weighted := weighted_mark(mark.value, reply.answer.logprobs or ())) is not None:
            return _scored([mark], weighted, "logprobs", steps)
        marks.append(mark)
    return _scored(marks, sum(mark.value for mark in marks) / len(marks), "samples", steps)


def weighted_mark(value: float, tokens: Sequence[TokenChoice]) -> float | None:
    """The expected mark over the alternatives to its token.

    As in DeepEval, only whole numbers with a probability of at least 1 % count. None if the mark is not a single
    token, such as 7.5.
    """
    choice = _mark_token(str(value), tokens)
    if choice is None:
        return None
    total = weighted = 0.0
    for token, logprob in choice.top.items():
        if logprob >= _LEAST_LOGPROB and token.isdecimal() and int(token) <= _HIGHEST:
            chance = math.exp(logprob)
            total += chance
            weighted += int(token) * chance
    return weighted / total if total else None


def _mark_token(written: str, tokens: Sequence[TokenChoice]) -> TokenChoice | None:
    """The mark's token after the last `"score"`; the same number may also appear in the reason."""
    text = "".join([choice.token for choice in tokens])
    begin = text.rfind('"score"')
    at = 0
    for choice in tokens:
        if at > begin and choice.token == written:
            return choice
        at += len(choice.token)
    return None


def _scored(marks: Sequence[Grade], value: float, method: str, steps: Sequence[str]) -> Scored:
    details = {"method": method, "steps": list(steps), "k": len(marks), "marks": [mark.value for mark in marks]}
    # Rounding may put a weighted mark slightly above the scale.
    return Scored(min(value / _HIGHEST, 1.0), " / ".join(mark.reason for mark in marks if mark.reason), details)


def _form(steps: Sequence[str]) -> Question:
    listed = "\n".join(f"{number}. {step}" for number, step in enumerate(steps, start=1))
    return Question(
        name="mark", task=f"{_FORM_TASK}\n{listed}", key="score", schema=_FORM_SCHEMA, example=_FORM_EXAMPLE
    )


def _read_steps(found: dict[str, Any]) -> tuple[str, ...]:
    if not (steps := read_texts(found, "steps")):
        raise UnreadableReply("there are no evaluation steps")
    return tuple(steps)


def _read_mark(found: dict[str, Any]) -> Grade:
    score = found["score"]
    if isinstance(score, bool) or not isinstance(score, int | float):
        raise UnreadableReply(f"the score is {shown(score)}, not a number")
    if not 0 <= score <= _HIGHEST:
        raise UnreadableReply(f"the score is {shown(score)}, outside 0 to {_HIGHEST}")
    return Grade(score, read_reason(found))


def _calls(calls: Sequence[Any]) -> str:
    return "\n".join(json.dumps(msgspec.to_builtins(call), ensure_ascii=False) for call in calls) or "(none)"
