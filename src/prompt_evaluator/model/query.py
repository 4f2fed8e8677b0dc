"""Questions about stored runs and their cases, and the answers."""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.message import ToolCall
from prompt_evaluator.model.result import AttemptResult, RunResult
from prompt_evaluator.model.run import CaseStatus, RunProgress, SampleStatus

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """Some of what was asked for."""

    items: tuple[T, ...]
    next: str | None
    """The cursor of the next page; None after the last."""


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs, in which order."""

    where: tuple[Condition, ...] = ()
    """On any column of a run, on `tag.KEY`, and on `metric.NAME`, the mean over its cases, and `error.KIND`."""
    sort: str = "started_at"
    """Any of these. Runs that have no such value come last, in either direction."""
    descending: bool = True
    limit: int = 50
    cursor: str | None = None


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it is listed."""

    run_id: str
    group_id: str
    parent_run_id: str | None
    kind: str
    """`evaluation`, or `scoring` for one that judges the answers of another run."""
    status: str
    """That of the run; `interrupted` for one that nobody works on any more."""
    started_at: str
    ended_at: str | None
    stop_reason: str | None
    dataset_name: str | None
    dataset_path: str | None
    dataset_hash: str | None
    prompt_hash: str | None
    prompt_version: str | None
    rubric_hash: str | None
    judge_hash: str | None
    """Of everything that decides how a judge is asked; None where nobody judges."""
    generator_model: str | None
    judge_model: str | None
    synthetic: bool | None
    tags: dict[str, str]
    note: str | None
    cases: int | None
    """How many cases were selected."""
    num_samples: int | None
    cost: float | None
    input_tokens: int | None
    output_tokens: int | None
    errors: dict[str, int]
    """By the error's class."""
    summary: RunResult | None
    """None until the run has said what it comes to."""
    progress: RunProgress | None


class CaseQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases of a run, in which order. A condition that is None is not asked for."""

    run_id: str
    status: CaseStatus | None = None
    metrics: tuple[Condition, ...] = ()
    """On a metric's mean: the field is the metric's name."""
    flags: tuple[str, ...] = ()
    """Each of them was raised at least once."""
    flaky: bool | None = None
    flagged: bool | None = None
    failing: bool | None = None
    errors: bool | None = None
    error_kind: str | None = None
    metadata: tuple[Condition, ...] = ()
    text: str | None = None
    """A part of the input or of an answer, in upper or lower case."""
    sort: str = "position"
    """`position`, `cost`, `latency`, `flakiness` or a metric's name; `metric.NAME` where these are names of metrics."""
    descending: bool = False
    limit: int = 50
    cursor: str | None = None


class CaseMetric(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of a case by one metric. Where no sample has a score there are no numbers, and `missing` says so."""

    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    count: int
    passes: int
    missing: int
    """Samples that ought to have a score and have none."""
    variability: str | None
    repeat_std: float | None


class CaseFlag(msgspec.Struct, frozen=True, kw_only=True):
    """How often a flag was raised, of how often it was asked for."""

    raised: int
    asked: int


class CaseLine(msgspec.Struct, frozen=True, kw_only=True):
    """A case as it is listed."""

    position: int
    case_id: str
    content_hash: str | None
    """The same for the same case in another file or another run."""
    file: str | None
    line: int | None
    input: str | None
    metadata: dict[str, Any]
    status: CaseStatus
    """`pending` until all its samples are done; what is known of some of them is there once the run has stopped."""
    error_kinds: tuple[str, ...] = ()
    error_message: str | None = None
    cost: float | None = None
    latency_ms: float | None = None
    """The mean over its samples."""
    flakiness: float | None = None
    """The largest share of samples, over all metrics, that disagree with the others about passing; at most a half."""
    flaky: bool = False
    """Whether by some metric some samples pass and others do not."""
    flagged: bool = False
    """Whether any flag was raised."""
    failing: bool = False
    """Whether by some metric fewer than half of the samples with a score pass."""
    started_at: str | None = None
    ended_at: str | None = None
    metrics: dict[str, CaseMetric] = {}
    flags: dict[str, CaseFlag] = {}


class ScoreLine(msgspec.Struct, frozen=True, kw_only=True):
    """What one metric said about one answer."""

    judge: str | None
    """The judge's model; None where no judge was asked."""
    value: float | None
    passed: bool | None
    outcome: Literal["scored", "skipped", "failed"]
    reason: str
    details: dict[str, Any]
    repeats: tuple[float | None, ...]
    """The score of each judgement, where the answer was judged more than once."""


class SampleLine(msgspec.Struct, frozen=True, kw_only=True):
    """One answer and what was said about it."""

    sample: int
    """Counted from 0."""
    attempt: int
    """Which attempt decided, counted from 0."""
    status: SampleStatus
    answer: str | None
    answer_hash: str | None
    """As labels have it."""
    cost: float | None
    judge_cost: float | None
    latency_ms: float | None
    input_tokens: int | None
    output_tokens: int | None
    judge_input_tokens: int | None
    judge_output_tokens: int | None
    tries: int | None
    model: str | None
    finish_reason: str | None
    error_kind: str | None
    error_message: str | None
    error_metric: str | None
    flags: dict[str, bool]
    comment: str | None
    tool_calls: tuple[ToolCall, ...]
    earlier_attempts: tuple[AttemptResult, ...]
    reused: bool
    scores: dict[str, ScoreLine]


class CaseDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One case with all its samples."""

    case: CaseLine
    samples: tuple[SampleLine, ...]


class RunCase(msgspec.Struct, frozen=True, kw_only=True):
    """How one run fares with a case."""

    content_hash: str | None
    """Where it differs between runs, the case was changed in between."""
    status: CaseStatus
    metrics: dict[str, CaseMetric]


class CaseMeans(msgspec.Struct, frozen=True, kw_only=True):
    """One case in several runs, side by side."""

    case_id: str
    runs: dict[str, RunCase]
    """By run; a run that does not have the case is not there."""
