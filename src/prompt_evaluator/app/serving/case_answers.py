"""The samples of a case as one object: answers that are alike together, with the range of their scores."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.findings import digits
from prompt_evaluator.metrics.options import expected_tools_of
from prompt_evaluator.model.query import SampleLine
from prompt_evaluator.model.wording import kind as kind_in_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model import RunPlan, TestCase

Kind = Literal["pass", "fail", "mixed", "error", "unscored"]
_encode = msgspec.json.Encoder(order="deterministic").encode


class Reason(msgspec.Struct, frozen=True):
    """Why an answer has its score, and the samples whose score has this reason."""

    text: str
    samples: tuple[int, ...]
    """Numbers, from 1."""
    outcome: str


class GroupScore(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over the samples of a group."""

    name: str
    digits: int
    low: float | None
    """None if no sample has a score."""
    high: float | None
    count: int
    passes: int
    kind: Kind
    reasons: tuple[Reason, ...]
    repeats: tuple[tuple[float | None, ...], ...]
    """The scores of each sample that was judged more than once."""


class ToolLine(msgspec.Struct, frozen=True, kw_only=True):
    """A tool call that was expected, made, or both."""

    expected: str | None
    made: str | None


class AnswerGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Samples with the same answer, or that failed in the same way."""

    samples: tuple[SampleLine, ...]
    answer: str | None
    """None if there is none: see `error`."""
    kind: Kind
    scores: tuple[GroupScore, ...]
    flags: dict[str, int]
    """How many of its samples raised each flag; only raised ones."""
    comments: tuple[Reason, ...]
    error: str | None
    """What failed, in words."""
    tools: tuple[ToolLine, ...]

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its samples, from 1."""
        return tuple(sample.sample + 1 for sample in self.samples)

    @property
    def number(self) -> int:
        return self.samples[0].sample + 1


def answer_groups(plan: RunPlan, case: TestCase, samples: Sequence[SampleLine]) -> list[AnswerGroup]:
    """Samples with equal answers together: the most frequent answer first, those without an answer last."""
    found: dict[bytes, list[SampleLine]] = {}
    for sample in samples:
        found.setdefault(_key(sample), []).append(sample)
    groups = [_group(plan, case, each) for each in found.values()]
    return sorted(groups, key=lambda group: (group.answer is None, -len(group.samples), group.number))


def sample_kind(sample: SampleLine, metric: str) -> Literal["pass", "fail", "error"]:
    """How a sample did on one metric."""
    score = sample.scores.get(metric)
    if score is None or score.value is None:
        return "error"
    return "pass" if score.passed else "fail"


def _key(sample: SampleLine) -> bytes:
    if sample.answer is None:
        return _encode(["failed", sample.status, sample.error_kind, sample.error_message])
    return _encode([sample.answer, [(call.name, call.arguments) for call in sample.tool_calls]])


def _group(plan: RunPlan, case: TestCase, samples: list[SampleLine]) -> AnswerGroup:
    first = samples[0]
    names = dict.fromkeys(name for sample in samples for name in sample.scores)
    scores = tuple(_score(plan, name, samples) for name in names)
    flags = Counter(name for sample in samples for name, raised in sample.flags.items() if raised)
    failed = next((sample for sample in samples if sample.error_kind), None)
    return AnswerGroup(
        samples=tuple(samples),
        answer=first.answer,
        kind=_kind(scores, has_answer=first.answer is not None),
        scores=scores,
        flags=dict(flags),
        comments=_reasons((sample, sample.comment or "", "scored") for sample in samples),
        error=_error(failed) if failed else None,
        tools=tuple(_tools(case, first)) if first.answer is not None else (),
    )


def _score(plan: RunPlan, name: str, samples: Iterable[SampleLine]) -> GroupScore:
    asked = [(sample, sample.scores[name]) for sample in samples if name in sample.scores]
    values = [score.value for _, score in asked if score.value is not None]
    passes = sum(bool(score.passed) for _, score in asked)
    scale = plan.scale(name)
    return GroupScore(
        name=name,
        digits=digits((scale.low, scale.high)),
        low=min(values, default=None),
        high=max(values, default=None),
        count=len(values),
        passes=passes,
        kind=_shared(passes, len(values), any(score.outcome == "failed" for _, score in asked)),
        reasons=_reasons((sample, score.reason, score.outcome) for sample, score in asked),
        repeats=tuple(score.repeats for _, score in asked if score.repeats),
    )


def _shared(passes: int, count: int, failed: bool) -> Kind:  # noqa: FBT001
    if not count:
        return "error" if failed else "unscored"
    return "pass" if passes == count else "fail" if not passes else "mixed"


def _kind(scores: Sequence[GroupScore], *, has_answer: bool) -> Kind:
    """A group passes if all its scores do; one that fails always fails the group."""
    kinds = {score.kind for score in scores} - {"unscored"}
    if not has_answer:
        return "error"
    for kind in ("fail", "mixed", "error", "pass"):
        if kind in kinds:
            return kind
    return "unscored"


def _reasons(found: Iterable[tuple[SampleLine, str, str]]) -> tuple[Reason, ...]:
    samples: dict[tuple[str, str], list[int]] = {}
    for sample, text, outcome in found:
        if text.strip():
            samples.setdefault((text, outcome), []).append(sample.sample + 1)
    return tuple(Reason(text, tuple(numbers), outcome) for (text, outcome), numbers in samples.items())


def _error(sample: SampleLine) -> str:
    what = f"{sample.error_metric} could not be judged" if sample.error_metric else "No answer"
    return f"{what}: {kind_in_words(sample.error_kind or '')}. {sample.error_message or ''}".strip()


def _tools(case: TestCase, sample: SampleLine) -> Iterable[ToolLine]:
    """Expected calls beside calls of the same name; then calls that nobody expected."""
    expected = expected_tools_of(case)
    made = [(call.name, _call(call.name, call.arguments)) for call in sample.tool_calls]
    for wanted in expected or ():
        fitting = next((each for each in made if each[0] == wanted.name), None)
        if fitting:
            made.remove(fitting)
        yield ToolLine(expected=_call(wanted.name, wanted.args), made=fitting[1] if fitting else None)
    for _, text in made:
        yield ToolLine(expected=None, made=text)


def _call(name: str, arguments: object) -> str:
    if arguments is None:
        return f"{name}(…)"
    text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return f"{name}({text})"
