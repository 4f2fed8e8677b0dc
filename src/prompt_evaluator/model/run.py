"""A run: what was asked for, what became of each sample, and what it all comes to."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from prompt_evaluator.model.call import Answer
from prompt_evaluator.model.case import MetricUse
from prompt_evaluator.model.rubric import Rubric
from prompt_evaluator.model.score import Failed, Score, ScoreScale

RunStatus = Literal["running", "completed", "partial", "failed", "aborted"]
CaseStatus = Literal["pending", "completed", "partial", "failed"]
UnitKind = Literal["generation", "judgement", "reply", "preparation"]
"""A reply is one of several that a metric asks a judge for; once there is a score it is of no more use."""
SampleStatus = Literal["pending", "completed", "judge_error", "judge_invalid_response", "generation_error"]


class DatasetRef(msgspec.Struct, frozen=True, kw_only=True):
    """Which dataset a run was made from."""

    path: str | None
    """None for cases that did not come from a file."""
    hash: str
    count: int
    """Cases in the file."""
    selected: int
    """Cases that passed the filters."""


class PromptRef(msgspec.Struct, frozen=True, kw_only=True):
    """The system prompt, kept whole so that a run can be continued and explained without its file."""

    path: str | None
    """None for a text that did not come from a file."""
    hash: str
    text: str
    version: str | None = None


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A model and how it is asked."""

    model: str
    """Its full name, `provider/model`."""
    identity: str
    """Which service that is, without any secret, and for a program which code: part of what names a unit."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    params: dict[str, Any] = {}
    """Whatever else the service understands, such as `top_p`; passed through, and part of what names a unit."""


class Target(ModelConfig, frozen=True, kw_only=True):
    """What is under test: a model, how it is asked, and what it is told."""

    prompt: PromptRef | None = None
    render_prompt: bool = False
    """Whether `{{field}}` in the system prompt is filled in from each case."""
    template: str | None = None
    """What is sent in place of a case's input, with `{{field}}` places."""
    context_template: str | None = None
    """What is sent in place of the input of a case that has passages, where there is no template."""
    attempts: int = 1
    """How many answers a sample may ask for while an answer misses a pass mark; the last decides."""


class JudgeConfig(ModelConfig, frozen=True, kw_only=True):
    """The judge's model, and what it is told."""

    system_prompt: str | None = None
    """In place of the built-in instructions."""
    repeats: int = 1


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """The command that started a run, as somebody wrote it."""

    name: tuple[str, ...]
    """Without the program: `evaluate-dataset`, or `benchmark` and `run`."""
    options: tuple[tuple[str, ...], ...] = ()
    """Each a long flag and, unless it is a switch, its value. What only an environment variable said is among them."""
    arguments: tuple[str, ...] | None = ()
    """None where a text came on standard input in their place."""
    folder: str
    """Absolute; where its relative paths start."""

    def value(self, flag: str) -> str | None:
        """The last one that was given."""
        return next((option[-1] for option in reversed(self.options) if option[0] == flag), None)


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that decides what a run does. Resuming it with anything else would be another run."""

    run_id: str
    group_id: str
    parent_run_id: str | None = None
    dataset: DatasetRef
    target: Target
    rubric: Rubric | None
    metrics: tuple[MetricUse, ...] = ()
    """Beside the rubric, for every case; single cases may ask for more."""
    judge: JudgeConfig | None
    """None where nothing asks a judge."""
    judges: dict[str, JudgeConfig] = {}
    """By the model's name as it was written, for uses of metrics that name a judge of their own."""
    num_samples: int
    output_dir: str
    """Absolute; the run's own directory is below it."""
    note: str | None = None
    tags: dict[str, str] = {}
    filters: dict[str, Any] = {}
    fail_under: dict[str, float] = {}
    """By metric, the lowest mean it may have."""
    fail_over: dict[str, float] = {}
    """By flag, the largest share of samples that may raise it."""
    reducers: tuple[str, ...] = ()
    """How the samples of a case become one number, beside their mean: `pass@3`, `majority` and the like."""
    reuse: bool = False
    synthetic: bool = False
    """Whether the offline mock has any part in it."""
    command: CommandLine | None = None
    """None for a run that no command started."""

    @property
    def judge_models(self) -> tuple[str, ...]:
        """Everybody who judges, the run's own judge first."""
        judges = [*([self.judge] if self.judge else ()), *self.judges.values()]
        return tuple(dict.fromkeys(judge.model for judge in judges))

    def scale(self, name: str) -> ScoreScale:
        """Of a score: that of the rubric's criterion of this name, or from 0 to 1."""
        criteria = self.rubric.metrics if self.rubric else ()
        return next((criterion.scale for criterion in criteria if criterion.name == name), ScoreScale())


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run as the store knows it."""

    plan: RunPlan
    status: RunStatus
    started_at: str
    """ISO 8601, UTC."""
    ended_at: str | None = None
    stop_reason: str | None = None


class RunProgress(msgspec.Struct, frozen=True, kw_only=True):
    """How far a run is, as the process that works on it last said."""

    samples: int
    """That the run is going to have."""
    samples_done: int
    cases: int
    cases_done: int
    unscored: int
    """Samples that are done and lack a score."""
    errors: dict[str, int]
    """By the error's class."""
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; None while nothing has a known price."""
    unpriced: int
    """Calls whose price is not known."""
    rate: float | None
    """Samples a second; None while there is nothing to tell it from."""
    sequence: int
    """The number of the last event that is counted in."""
    updated_at: str
    """ISO 8601, UTC."""


class CallFailure(msgspec.Struct, frozen=True, kw_only=True):
    """Why a call gave no answer."""

    kind: str
    """The error's class."""
    message: str
    tries: int = 1
    time_outs: int = 0
    """Of the tries, those that timed out, which may have been paid for."""


class Generation(msgspec.Struct, frozen=True, kw_only=True):
    """The finished first half of a sample: an answer, or why there is none."""

    answer: Answer | None = None
    failure: CallFailure | None = None
    started_at: str
    ended_at: str
    reused: bool = False
    """From an earlier run, and not paid for again."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of applying one metric to one answer, once."""

    metric: str
    """The name of the use."""
    scores: dict[str, Score]
    """By name: one, or one for each of a rubric's criteria."""
    pass_at: dict[str, float] = {}
    """Of each score, from where on it passes. Names no unit: another mark costs nothing."""
    flags: dict[str, bool] = {}
    comment: str | None = None
    raw: str | None = None
    """The judge's last reply as it came."""
    repeats: int = 1
    """How many judgements of this answer by this metric the run wants."""
    replies: tuple[Answer, ...] = ()
    """Every judge's reply that was paid for, for the accounts, without its text."""
    time_outs: int = 0
    """Tries of calls to the judge that timed out, which may have been paid for."""
    ended_at: str | None = None
    reused: bool = False

    @property
    def failed(self) -> Failed | None:
        """Why there is no score, where there is none."""
        for score in self.scores.values():
            if isinstance(score, Failed):
                return score
        return None


class Preparation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A metric as a judge has made it ready, such as with evaluation steps: the same for every run that asks alike."""

    metric: str
    """The name of the use for which it was made."""
    options: dict[str, Any]
    """Those of the metric that the judge has filled in."""
    replies: tuple[Answer, ...] = ()
    """What was paid for that, without the texts."""
    reused: bool = False


class Unit(msgspec.Struct, frozen=True, kw_only=True):
    """A finished piece of work. Within a run it is known by case and name; the name alone links runs."""

    case_id: str
    """Empty for a preparation, which is about no case."""
    name: bytes
    kind: UnitKind
    sample: int
    attempt: int = 0
    """Which answer of the sample: more than one where a bad answer is asked for again."""
    repeat: int = 0
    """Which of several judgements by the same metric."""
    ok: bool
    """Whether it gave what it was for. What is not ok may be done again; what is ok never is."""
    data: bytes
    """As JSON: a `Generation`, a `Judgement`, an `Answer` if it is a reply, or a `Preparation`."""
