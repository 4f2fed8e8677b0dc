"""Which of two answers to the same case a judge prefers."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import msgspec

from prompt_evaluator.metrics.judge_prompt import calls_text, case_parts, object_schema
from prompt_evaluator.metrics.judge_reply import UnreadableReply, shown
from prompt_evaluator.metrics.judging import JudgedMetric, Question, ask, read_reason
from prompt_evaluator.model import Answer, Failed, Scored

if TYPE_CHECKING:
    from prompt_evaluator.model import Rubric, Score, TestCase
    from prompt_evaluator.ports import JudgeClient

_TASK = """\
You are a careful and impartial judge. You are shown an input that was given to two models, and the answer of each: \
answer 1 and answer 2. Decide which answer serves the input better.
Their order says nothing about them. A longer answer is not better for being longer, nor one that sounds \
surer of itself or is laid out more richly. An empty answer is an answer too.
Where a task, constraints, context or a reference are shown, hold both answers against them: a reference is one good \
answer, not the only one.
Say what speaks for and against each answer, then name the better one: "1" or "2". If neither is better, or if they \
differ only in wording, say "tie"."""
_CRITERIA = "# The criteria\nWhat makes an answer better:"
_WATCHED = "What makes it worse or better, whatever else it does:"
_BETTER = ("1", "2", "tie")
_SCHEMA = object_schema({"reason": {"type": "string"}, "better": {"type": "string", "enum": list(_BETTER)}})
_EXAMPLE = '{"reason": "<why, in one or two sentences>", "better": "<1 or 2 or tie>"}'


class _Choice(NamedTuple):
    better: str
    reason: str


class Preference(JudgedMetric, frozen=True, kw_only=True):
    """Whether the judge prefers the candidate's answer (1) or the baseline's (0); 0.5 for a tie."""

    name: ClassVar[str] = "preference"
    reads_answer: ClassVar[bool] = False

    first: Literal["candidate", "baseline"]
    """Whose answer is shown first."""
    criteria: str | None = None
    """What makes an answer better, if the compared runs say so."""
    rival: Answer | None = None
    """The baseline's answer to the same sample; None if it has none."""

    @property
    def questions(self) -> int:
        return 1

    def definition(self) -> dict[str, Any]:
        """Who is first, the prompt with its criteria, and the baseline's answer as the judge sees it."""
        rival = (self.rival.text, self.rival.tool_calls) if self.rival else None
        return {"metric": self.name, "first": self.first, "prompt": _digest(self.criteria), "rival": rival}

    def against(self, rival: Answer | None) -> Preference:
        """The metric for a sample to which the baseline gave this answer, or none."""
        return msgspec.structs.replace(self, rival=rival)

    async def judged(self, case: TestCase, answer: Answer, judge: JudgeClient) -> Score:
        """Ask which answer is better, unless they are the same."""
        rival = self.rival
        if rival is None:
            return Failed("the baseline has no answer to this sample", kind="NotGenerated")
        if (answer.text, answer.tool_calls) == (rival.text, rival.tool_calls):
            return Scored(0.5, "The answers are the same.", {"better": "tie", "same": True})
        pair = (answer, rival) if self.first == "candidate" else (rival, answer)
        reply = await ask(judge, _question(self.criteria), _material(case, pair), _read)
        if isinstance(reply, Failed):
            return reply
        better, reason = reply.value
        return Scored(_value(better, self.first), reason, {"better": better})


def criteria_of(rubric: Rubric) -> str:
    """A rubric's criteria and flags as text, without scales: answers are compared, not scored."""
    parts = [f"## {each.name}\n{each.description.strip()}\n{each.guidelines.strip()}" for each in rubric.metrics]
    if rubric.flags:
        flags = [f"- {flag.name}: {flag.description.strip()}" for flag in rubric.flags]
        parts.append("\n".join((_WATCHED, *flags)))
    return "\n\n".join(part.strip() for part in parts)


def _value(better: str, first: str) -> float:
    """1 if the candidate is better, wherever its answer was shown."""
    if better == "tie":
        return 0.5
    return float((better == "1") == (first == "candidate"))


@lru_cache(maxsize=64)
def _question(criteria: str | None) -> Question:
    task = f"{_TASK}\n\n{_CRITERIA}\n{criteria}" if criteria else _TASK
    return Question(name="preference", task=task, key="better", schema=_SCHEMA, example=_EXAMPLE)


@lru_cache(maxsize=64)
def _digest(criteria: str | None) -> str:
    return _question(criteria).digest()


def _material(case: TestCase, pair: tuple[Answer, Answer]) -> dict[str, str]:
    parts = case_parts(case, case.passages)
    for number, answer in enumerate(pair, start=1):
        parts[f"answer_{number}"] = answer.text
        if answer.tool_calls:
            parts[f"tool_calls_{number}"] = calls_text(answer.tool_calls)
    return parts


def _read(found: dict[str, Any]) -> _Choice:
    better = found["better"]
    said = str(better).strip().lower() if type(better) in (str, int) else ""
    if said not in _BETTER:
        raise UnreadableReply(f'"better" is {shown(better)}, not "1", "2" or "tie"')
    return _Choice(said, read_reason(found))
