"""A run: what was asked for, what became of each sample, and what it all comes to."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from prompt_evaluator.model.call import Answer
from prompt_evaluator.model.rubric import Rubric
from prompt_evaluator.model.score import Score

RunStatus = Literal["running", "completed", "partial", "failed", "aborted"]
CaseStatus = Literal["pending", "completed", "partial", "failed"]
UnitKind = Literal["generation", "judgement", "score", "reply"]
"""A reply is one of several that a metric asks a judge for; once there is a score it is of no more use."""
SampleStatus = Literal["pending", "completed", "judge_error", "judge_invalid_response", "generation_error"]


class DatasetRef(msgspec.Struct, frozen=True, kw_only=True):
    """Which dataset a run was made from."""

    path: str | None
    """None of cases that came from no file."""
    hash: str
    count: int
    """Cases in the file."""
    selected: int
    """Cases that passed the filters."""


class PromptRef(msgspec.Struct, frozen=True, kw_only=True):
    """The system prompt, kept whole so that a run can be continued and explained without its file."""

    path: str | None
    """None of a text that came from no file."""
    hash: str
    text: str
    version: str | None = None


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A model and how it is asked."""

    model: str
    """Its full name, `provider/model`."""
    identity: str
    """Which service that is, without any secret: part of what names a unit."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None


class JudgeConfig(ModelConfig, frozen=True, kw_only=True):
    """The judge's model, and what it is told."""

    system_prompt: str | None = None
    """In place of the built-in instructions."""
    repeats: int = 1


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a run does. Resuming it with anything else would be another run."""

    run_id: str
    group_id: str
    parent_run_id: str | None = None
    dataset: DatasetRef
    prompt: PromptRef | None
    template: str | None = None
    rubric: Rubric | None
    metrics: tuple[dict[str, Any], ...] = ()
    """Beside the rubric: `{"metric": name, …options}`, as they were asked for."""
    generator: ModelConfig
    judge: JudgeConfig | None
    num_samples: int
    output_dir: str
    """Absolute; the run's own directory is below it."""
    note: str | None = None
    tags: dict[str, str] = {}
    filters: dict[str, Any] = {}
    fail_under: dict[str, float] = {}
    reducers: tuple[str, ...] = ()
    """How the samples of a case become one number, beside their mean: `pass@3`, `majority` and the like."""
    reuse: bool = False
    synthetic: bool = False
    """Whether the offline mock has any part in it."""

    @property
    def judgings(self) -> int:
        """How often each answer is judged by the rubric: not at all where there is none."""
        return self.judge.repeats if self.judge and self.rubric else 0


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run as the store knows it."""

    plan: RunPlan
    status: RunStatus
    started_at: str
    """ISO 8601, UTC."""
    ended_at: str | None = None
    stop_reason: str | None = None


class CallFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call gave no answer."""

    kind: str
    """The error's class."""
    message: str
    tries: int = 1


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What a judge said, checked against its rubric."""

    metrics: dict[str, Mark]
    flags: dict[str, bool]
    overall_comment: str = ""


class Mark(msgspec.Struct, frozen=True):
    """One score with its reason."""

    score: float
    rationale: str


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """The finished first half of a sample: an answer, or why there is none."""

    answer: Answer | None = None
    failure: CallFailure | None = None
    started_at: str
    ended_at: str
    reused: bool = False
    """Taken over from an earlier run, and not paid for again."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """One judging of one answer: a verdict, or a reply that is none, or why there is no reply."""

    verdict: Verdict | None = None
    raw: str | None = None
    """The judge's last reply as it came."""
    invalid: str | None = None
    """What is wrong with that reply."""
    failure: CallFailure | None = None
    replies: tuple[Answer, ...] = ()
    """Every reply that was paid for, for the accounts; their text is in `raw` only."""
    ended_at: str | None = None
    reused: bool = False


class ScoreRecord(msgspec.Struct, frozen=True, kw_only=True):
    """What one metric said about one answer."""

    metric: str
    score: Score
    passed: bool | None = None
    """Whether the score reaches the metric's threshold; None when there is no score."""
    replies: tuple[Answer, ...] = ()
    """Every judge's reply that was paid for, for the accounts, without its text."""
    ended_at: str | None = None
    reused: bool = False


class Preparation(msgspec.Struct, frozen=True, kw_only=True):
    """A metric as a judge has made it ready for the whole run, such as with evaluation steps."""

    spec: dict[str, Any]
    replies: tuple[Answer, ...] = ()
    """What was paid for that, without the texts."""


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """A finished piece of work. Within a run it is known by case and name; the name alone links runs."""

    case_id: str
    name: bytes
    kind: UnitKind
    sample: int
    attempt: int = 0
    """Which answer of the sample: more than one where a bad answer is asked for again."""
    repeat: int = 0
    """Which of several judgings, or which of several metrics."""
    ok: bool
    """Whether it gave what it was for. What is not ok may be done again; what is ok never is."""
    data: bytes
    """As JSON: a `Generation`, a `Judgement`, a `ScoreRecord`, an `Answer` if it is a reply, or a `Preparation` where
    there is no case."""
