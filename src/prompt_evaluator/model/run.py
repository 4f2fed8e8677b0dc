"""A run: its plan, its record in the store, its progress and its finished units."""

from __future__ import annotations

import shlex
from typing import Any, Literal

import msgspec

from prompt_evaluator.model.call import Answer, LeftOut
from prompt_evaluator.model.case import MetricUse, TestCase
from prompt_evaluator.model.metric_uses import merged_uses
from prompt_evaluator.model.rubric import Rubric
from prompt_evaluator.model.score import Failed, Score, ScoreScale
from prompt_evaluator.model.settings import Price

RunStatus = Literal["queued", "running", "completed", "partial", "failed", "aborted"]
"""A queued run is planned and waits for a worker."""
CaseStatus = Literal["pending", "completed", "partial", "failed"]
UnitKind = Literal["generation", "judgement", "reply", "preparation"]
"""A reply is one of several that a metric requests from a judge; it is no longer needed once there is a score."""
NOT_STARTED = "planned, not started"
"""Why a run has stopped that was planned with others and is still to be started."""
SampleStatus = Literal["pending", "completed", "judge_error", "judge_invalid_response", "generation_error"]


class DatasetRef(msgspec.Struct, frozen=True, kw_only=True):
    """The dataset of a run."""

    path: str | None
    """None for cases that did not come from one file."""
    name: str | None = None
    """What cases that did not come from one file are called, such as the folder of the release harness."""
    hash: str
    count: int
    """Cases in the file."""
    selected: int
    """Cases that match the filters."""


class PromptRef(msgspec.Struct, frozen=True, kw_only=True):
    """The system prompt, stored in full so that a run can be resumed and explained without the file."""

    path: str | None
    """None for a text that did not come from a file."""
    hash: str
    text: str
    version: str | None = None


class ModelConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A model and its parameters."""

    model: str
    """Full name, `provider/model`."""
    identity: str
    """Identifies the service (without secrets) or, for a program, its code. Contributes to the names of units."""
    temperature: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    params: dict[str, Any] = {}
    """Other parameters, such as `top_p`; passed through. They contribute to the names of units."""
    effort: str | None = None
    """How much the model should reason."""
    left_out: tuple[LeftOut, ...] = ()
    """Parameters above that are not sent, because the model is known not to take them."""
    ignored: tuple[str, ...] = ()
    """Parameters that are sent and known to have no effect."""
    strict_params: bool = False
    """Whether to fail rather than to leave out a parameter."""

    @property
    def sent_params(self) -> dict[str, Any]:
        """The other parameters, without those left out."""
        left_out = {left.field for left in self.left_out}
        return {name: value for name, value in self.params.items() if name not in left_out}

    def sent(self, name: str) -> Any:
        """A parameter's value; None if it is left out."""
        return None if any(left.field == name for left in self.left_out) else getattr(self, name)


class Target(ModelConfig, frozen=True, kw_only=True):
    """What is under test: a model, its parameters and its prompt."""

    prompt: PromptRef | None = None
    render_prompt: bool = False
    """Whether to fill `{{field}}` in the system prompt from each case."""
    template: str | None = None
    """Text with `{{field}}` placeholders, sent instead of a case's input."""
    context_template: str | None = None
    """Same, for cases with passages if there is no `template`."""
    response_schema: dict[str, Any] | None = None
    """The JSON schema that answers have to follow."""
    attempts: int = 1
    """How many answers to request per sample while they miss a pass mark; the last one counts."""


class JudgeConfig(ModelConfig, frozen=True, kw_only=True):
    """The judge's model, parameters and prompt."""

    system_prompt: str | None = None
    """Replaces the built-in instructions."""
    repeats: int = 1


class CommandLine(msgspec.Struct, frozen=True, kw_only=True):
    """The command that started a run, as somebody wrote it."""

    name: tuple[str, ...]
    """Without the program: `evaluate-dataset`, or `benchmark` and `run`."""
    options: tuple[tuple[str, ...], ...] = ()
    """Each a long flag and, unless it is a switch, its value. What only an environment variable said is among them."""
    arguments: tuple[str, ...] = ()
    folder: str
    """Absolute; where its relative paths start."""

    @property
    def text(self) -> str | None:
        """What to type in its folder to start such a run again; None if a word could move the cursor."""
        options = [word for option in self.options for word in option]
        if any(argument.startswith("-") for argument in self.arguments):
            words = ["prompt-evaluator", *self.name, *options, "--", *self.arguments]
        else:
            words = ["prompt-evaluator", *self.name, *self.arguments, *options]
        return shlex.join(words) if all(map(str.isprintable, words)) else None

    def value(self, flag: str) -> str | None:
        """The last one that was given."""
        return next((option[-1] for option in reversed(self.options) if option[0] == flag), None)


class HarnessPart(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is in its group, if the release harness made it."""

    folder: str
    """Absolute; contains `tasks`, `configs` and `results`."""
    config_id: str
    config_hashes: dict[str, str]
    """All configurations of the group, in order; some may not have a run yet."""
    tasks_hash: str


class PricesUsed(msgspec.Struct, frozen=True, kw_only=True):
    """By which prices the cost of a run is counted, in addition to configured ones."""

    as_of: str
    """The date of the table of list prices."""
    hash: str
    """Of the table, as `sha256:…`."""
    assumed: Price | None = None
    """For models without a known price, if there is such an assumption."""


class RunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that determines what a run does. A change to any of it makes a different run."""

    run_id: str
    group_id: str
    parent_run_id: str | None = None
    """The run whose answers are judged, if this run generates none."""
    baseline_run_id: str | None = None
    """In a pairwise comparison, the run whose answers are compared with the parent's."""
    dataset: DatasetRef
    target: Target
    rubric: Rubric | None
    metrics: tuple[MetricUse, ...] = ()
    """Metrics for every case, in addition to the rubric; single cases may request more."""
    judge: JudgeConfig | None
    """None if nothing needs a judge."""
    judges: dict[str, JudgeConfig] = {}
    """Judges of metric uses that name their own, by the model name as written."""
    num_samples: int
    output_dir: str
    """Absolute; contains the run's own directory."""
    note: str | None = None
    tags: dict[str, str] = {}
    filters: dict[str, Any] = {}
    fail_under: dict[str, float] = {}
    """By metric, the lowest mean it may have."""
    fail_over: dict[str, float] = {}
    """By flag, the largest share of samples that may raise it."""
    reducers: tuple[str, ...] = ()
    """Ways to combine the samples of a case, in addition to their mean, such as `pass@3` or `majority`."""
    reuse: bool = False
    prices: PricesUsed | None = None
    """None in runs of earlier versions."""
    synthetic: bool = False
    """Whether the offline mock answers or judges in this run."""
    command: CommandLine | None = None
    """None if the run was not started by a command."""
    harness: HarnessPart | None = None

    @property
    def judge_models(self) -> tuple[str, ...]:
        """All judge models, the run's own judge first."""
        judges = [*([self.judge] if self.judge else ()), *self.judges.values()]
        return tuple(dict.fromkeys(judge.model for judge in judges))

    def uses_for(self, case: TestCase) -> tuple[MetricUse, ...]:
        """The metrics that judge an answer to a case, without the rubric. A pairwise comparison ignores its checks.

        Raises:
            ValueError: The run and the case use the same name for two metrics.
        """
        if not case.checks or self.baseline_run_id is not None:
            return self.metrics
        return merged_uses(self.metrics, case.checks)

    def scale(self, name: str) -> ScoreScale:
        """Return the scale of a score: that of the rubric criterion with this name, otherwise 0 to 1."""
        criteria = self.rubric.metrics if self.rubric else ()
        return next((criterion.scale for criterion in criteria if criterion.name == name), ScoreScale())


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """A run as stored."""

    plan: RunPlan
    status: RunStatus
    started_at: str
    """ISO 8601, UTC."""
    ended_at: str | None = None
    stop_reason: str | None = None


class RunProgress(msgspec.Struct, frozen=True, kw_only=True):
    """A run's progress, as last reported by the process working on it."""

    samples: int
    """Total samples of the run."""
    samples_done: int
    cases: int
    cases_done: int
    unscored: int
    """Samples that are done but lack a score."""
    errors: dict[str, int]
    """Counts by error class."""
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars; None while no price is known."""
    unpriced: int
    """Calls without a known price."""
    rate: float | None
    """Samples per second; None until it can be estimated."""
    throttled: float = 0.0
    """Share of the calls' time for which a rate limit or a 429 held them back."""
    sequence: int
    """Sequence number of the last event included."""
    updated_at: str
    """ISO 8601, UTC."""


class CallFailure(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Why a call gave no answer."""

    kind: str
    """The error class."""
    message: str
    tries: int = 1
    time_outs: int = 0
    """Tries that timed out; they may have been billed."""
    cost: float | None = None
    """US dollars for tries that the service has billed; None if there were none, as far as is known."""


class Generation(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first half of a sample: an answer, or why there is none."""

    answer: Answer | None = None
    failure: CallFailure | None = None
    started_at: str
    ended_at: str
    reused: bool = False
    """Whether it was reused from an earlier run at no cost."""
    failed_cost: float | None = None
    """US dollars for the failure that this was asked again for; None if it was not billed, as far as is known."""


class Judgement(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """The result of applying one metric to one answer, once."""

    metric: str
    """The name of the metric use."""
    scores: dict[str, Score]
    """By name: a single score, or one per criterion of a rubric."""
    pass_at: dict[str, float] = {}
    """The pass mark of each score. Not part of the unit's name, so changing a mark costs nothing."""
    flags: dict[str, bool] = {}
    comment: str | None = None
    raw: str | None = None
    """The judge's last reply, verbatim."""
    repeats: int = 1
    """How many judgements of this answer by this metric the run makes."""
    replies: tuple[Answer, ...] = ()
    """All paid replies of the judge, for accounting, without their texts."""
    time_outs: int = 0
    """Tries of judge calls that timed out; they may have been billed."""
    failed_cost: float | None = None
    """US dollars for judge calls without a reply that the service has billed, and for a failed judgement that this one
    has replaced; None if there were none, as far as is known."""
    ended_at: str | None = None
    reused: bool = False

    @property
    def failed(self) -> Failed | None:
        """The first failure among the scores, if any."""
        for score in self.scores.values():
            if isinstance(score, Failed):
                return score
        return None


class Preparation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A metric's options filled in by a judge, such as evaluation steps; shared by all runs that ask the same."""

    metric: str
    """The name of the metric use it was made for."""
    options: dict[str, Any]
    """The options that the judge filled in."""
    replies: tuple[Answer, ...] = ()
    """The paid replies, without their texts."""
    reused: bool = False


class Unit(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A finished piece of work. Case and name identify it within a run; the name alone links runs."""

    case_id: str
    """Empty for a preparation, which belongs to no case."""
    name: bytes
    kind: UnitKind
    sample: int
    attempt: int = 0
    """Which answer of the sample; above 0 if a bad answer led to another request."""
    repeat: int = 0
    """Which of several judgements by the same metric."""
    ok: bool
    """Whether it succeeded. Failed units may be done again; successful ones never are."""
    data: bytes
    """JSON of a `Generation`, a `Judgement`, an `Answer` (for a reply) or a `Preparation`."""
