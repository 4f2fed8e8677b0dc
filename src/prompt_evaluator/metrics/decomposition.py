"""Metrics that split an answer or its context into pieces and ask a judge about each piece."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta

from prompt_evaluator.metrics import decomposition_questions as questions
from prompt_evaluator.metrics.judge_prompt import asked_text, reference_parts
from prompt_evaluator.metrics.judge_reply import UnreadableReply
from prompt_evaluator.metrics.judging import (
    JudgedMetric,
    Opinion,
    Question,
    ask,
    numbered,
    parts_of,
    read_named,
    read_numbered,
    read_texts,
)
from prompt_evaluator.model import Answer, Failed, Score, Scored, TestCase

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.ports import JudgeClient

_MOST_LISTED = 10
_MOST_SHOWN = 200


class Faithfulness(JudgedMetric, frozen=True, kw_only=True):
    """The share of the answer's claims that its context does not contradict."""

    name: ClassVar[str] = "faithfulness"
    needs: ClassVar[tuple[str, ...]] = ("context",)
    asks: ClassVar[tuple[Question, ...]] = (questions.CLAIMS, questions.TRUTHS, questions.FAITHFULNESS)

    truths_limit: Annotated[int, Meta(ge=1, le=10_000)] | None = None
    """How many facts to take from each passage, most important first; all by default."""
    strict_idk: bool = False
    """Whether a claim that the context does not mention counts against the answer."""

    async def judged(self, case: TestCase, answer: Answer, judge: JudgeClient) -> Score:
        """Extract the answer's claims and the context's facts, then check each claim."""
        claims = await _texts(judge, questions.CLAIMS, {"output": answer.text})
        if isinstance(claims, Failed):
            return claims
        if not claims:
            return Scored(1.0, "the answer makes no claims", {"opinions": []})
        limit = self.truths_limit
        few = f"Take no more than the {limit} most important facts from each passage." if limit else ""
        truths = await _texts(judge, questions.TRUTHS, parts_of(case.passages), few)
        if isinstance(truths, Failed):
            return truths
        parts = {"truths": numbered(truths), "claims": numbered(claims)}
        found = await _opinions(judge, questions.FAITHFULNESS, parts, claims)
        if isinstance(found, Failed):
            return found
        good = {"yes"} if self.strict_idk else {"yes", "idk"}
        reasons = (
            _listed(found, "no", "contradicts the context", "contradict the context"),
            _listed(found, "idk", "is not in the context", "are not in the context"),
        )
        reason = "; ".join(filter(None, reasons)) or f"the context supports all claims ({len(found)})"
        return Scored(_share(found, good), reason, {**_opinions_of(found), "truths": truths})


class AnswerRelevancy(JudgedMetric, frozen=True, kw_only=True):
    """The share of the answer's statements that are relevant to the question."""

    name: ClassVar[str] = "answer_relevancy"
    asks: ClassVar[tuple[Question, ...]] = (questions.STATEMENTS, questions.ANSWER_RELEVANCY)

    async def judged(self, case: TestCase, answer: Answer, judge: JudgeClient) -> Score:
        """Extract the answer's statements, then check each one."""
        statements = await _texts(judge, questions.STATEMENTS, {"output": answer.text})
        if isinstance(statements, Failed):
            return statements
        if not statements:
            return Scored(1.0, "the answer makes no statements", {"opinions": []})
        parts = {"input": asked_text(case), "statements": numbered(statements)}
        found = await _opinions(judge, questions.ANSWER_RELEVANCY, parts, statements)
        if isinstance(found, Failed):
            return found
        reason = (
            _listed(found, "no", "is irrelevant", "are irrelevant") or f"all statements are relevant ({len(found)})"
        )
        return Scored(_share(found, {"yes", "idk"}), reason, _opinions_of(found))


class ContextualPrecision(JudgedMetric, frozen=True, kw_only=True):
    """Whether useful passages of the context come before useless ones: the mean precision at each useful rank."""

    name: ClassVar[str] = "contextual_precision"
    needs: ClassVar[tuple[str, ...]] = ("context", "reference")
    reads_answer: ClassVar[bool] = False
    asks: ClassVar[tuple[Question, ...]] = (questions.CONTEXTUAL_PRECISION,)

    async def judged(self, case: TestCase, answer: Answer, judge: JudgeClient) -> Score:  # noqa: ARG002 - the answer does not matter
        """Check each passage."""
        texts = case.passages
        parts = {"input": asked_text(case), **reference_parts(case), **parts_of(texts)}
        found = await _opinions(judge, questions.CONTEXTUAL_PRECISION, parts, texts)
        if isinstance(found, Failed):
            return found
        useful = [rank for rank, each in enumerate(found, start=1) if each.opinion == "yes"]
        if not useful:
            return Scored(0.0, f"none of the passages is useful ({len(found)})", _opinions_of(found))
        # As in DeepEval: the mean of precision at k over the useful ranks k, summed in the same order.
        value = sum(count / rank for count, rank in enumerate(useful, start=1)) / len(useful)
        return Scored(value, _rank_reason(found, useful), _opinions_of(found))


class ContextualRecall(JudgedMetric, frozen=True, kw_only=True):
    """The share of the expected output's sentences that can be traced to the context."""

    name: ClassVar[str] = "contextual_recall"
    needs: ClassVar[tuple[str, ...]] = ("context", "reference")
    reads_answer: ClassVar[bool] = False
    asks: ClassVar[tuple[Question, ...]] = (questions.CONTEXTUAL_RECALL,)

    async def judged(self, case: TestCase, answer: Answer, judge: JudgeClient) -> Score:  # noqa: ARG002 - the answer does not matter
        """Check each sentence of the expected output."""
        parts = {**reference_parts(case), **parts_of(case.passages)}
        reply = await ask(judge, questions.CONTEXTUAL_RECALL, parts, _sentences)
        if isinstance(reply, Failed):
            return reply
        found = reply.value
        missing = _listed(found, "no", "is not in the context", "are not in the context")
        reason = missing or f"the context covers the expected output ({len(found)})"
        return Scored(_share(found, {"yes"}), reason, _opinions_of(found))


class ContextualRelevancy(JudgedMetric, frozen=True, kw_only=True):
    """The share of the context's statements that help answer the question."""

    name: ClassVar[str] = "contextual_relevancy"
    needs: ClassVar[tuple[str, ...]] = ("context",)
    reads_answer: ClassVar[bool] = False
    asks: ClassVar[tuple[Question, ...]] = (questions.CONTEXTUAL_RELEVANCY,)

    async def judged(self, case: TestCase, answer: Answer, judge: JudgeClient) -> Score:  # noqa: ARG002 - the answer does not matter
        """Check each statement of the context."""
        parts = {"input": asked_text(case), **parts_of(case.passages)}
        reply = await ask(judge, questions.CONTEXTUAL_RELEVANCY, parts, _statements)
        if isinstance(reply, Failed):
            return reply
        found = reply.value
        if not found:
            return Scored(0.0, "the context states nothing", {"opinions": []})
        reason = (
            _listed(found, "no", "is irrelevant", "are irrelevant") or f"all statements are relevant ({len(found)})"
        )
        return Scored(_share(found, {"yes"}), reason, _opinions_of(found))


async def _texts(
    judge: JudgeClient, question: Question, parts: dict[str, str], closing: str = ""
) -> list[str] | Failed:
    reply = await ask(judge, question, parts, lambda found: read_texts(found, question.key), closing=closing)
    return reply if isinstance(reply, Failed) else reply.value


async def _opinions(
    judge: JudgeClient, question: Question, parts: dict[str, str], texts: Sequence[str]
) -> list[Opinion] | Failed:
    """One opinion per text; `parts` must show the texts in the same order."""
    allowed = questions.YES_NO_IDK if question is not questions.CONTEXTUAL_PRECISION else questions.YES_NO
    closing = f"Give {len(texts)} verdicts, numbered from 1." if texts[1:] else "Give 1 verdict, with the number 1."
    reply = await ask(judge, question, parts, lambda found: read_numbered(found, texts, allowed), closing=closing)
    return reply if isinstance(reply, Failed) else reply.value


def _sentences(found: dict[str, Any]) -> list[Opinion]:
    sentences = read_named(found, "sentence", questions.YES_NO)
    if not sentences:
        raise UnreadableReply("there are no verdicts, although the expected output is not empty")
    return sentences


def _statements(found: dict[str, Any]) -> list[Opinion]:
    return read_named(found, "statement", questions.YES_NO)


def _share(found: Sequence[Opinion], good: set[str]) -> float:
    return sum(each.opinion in good for each in found) / len(found)


def _opinions_of(found: Iterable[Opinion]) -> dict[str, Any]:
    return {"opinions": [each._asdict() for each in found]}


def _listed(found: Sequence[Opinion], opinion: str, is_so: str, are_so: str) -> str:
    """`2 of 5 contradict the context: “…” (why); “…”`, or an empty string."""
    these = [each for each in found if each.opinion == opinion]
    if not these:
        return ""
    more = f"; and {len(these) - _MOST_LISTED} more" if len(these) > _MOST_LISTED else ""
    what = "; ".join(map(_quoted, these[:_MOST_LISTED]))
    return f"{len(these)} of {len(found)} {are_so if these[1:] else is_so}: {what}{more}"


def _quoted(found: Opinion) -> str:
    why = f" ({_short(found.reason)})" if found.reason.strip() else ""
    return f"“{_short(found.text)}”{why}"


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _rank_reason(found: Sequence[Opinion], useful: Sequence[int]) -> str:
    early = [(rank, each) for rank, each in enumerate(found[: useful[-1]], start=1) if each.opinion != "yes"]
    ranks = f"useful at rank {', '.join(map(str, useful))} of {len(found)}"
    if not early:
        return ranks
    why = "; ".join(f"{rank} ({_short(each.reason)})" for rank, each in early[:_MOST_LISTED])
    more = f"; and {len(early) - _MOST_LISTED} more" if len(early) > _MOST_LISTED else ""
    return f"{ranks}; useless before a useful one: {why}{more}"
