"""Queries about stored runs and cases, and their results."""

from __future__ import annotations

from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from prompt_evaluator.model.call import BY_ITSELF
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.message import ToolCall
from prompt_evaluator.model.result import AttemptResult, RunResult
from prompt_evaluator.model.run import CaseStatus, RunProgress, SampleStatus

T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """One page of a query's results."""

    items: tuple[T, ...]
    next: str | None
    """The cursor of the next page; None after the last."""


class RunQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs, in which order."""

    where: tuple[Condition, ...] = ()
    """Conditions on any column of a run, `tag.KEY`, `metric.NAME` (the mean over its cases) or `error.KIND`."""
    sort: str = "started_at"
    """Any of the fields above. Runs without a value come last, in either direction."""
    descending: bool = True
    limit: int = 50
    cursor: str | None = None


class RunLine(msgspec.Struct, frozen=True, kw_only=True):
    """A run in a list."""

    run_id: str
    group_id: str
    parent_run_id: str | None
    kind: str
    """`evaluation`, `scoring` for a run that judges another run's answers, or `pairwise` for one that compares them."""
    status: str
    """The run's status; `interrupted` if it is unfinished and no process is working on it."""
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
    """Hash of everything that determines how judges are asked; None if there is no judge."""
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
    """Counts by error class."""
    summary: RunResult | None
    """None until the run has saved its first summary."""
    progress: RunProgress | None


class CaseQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which cases of a run, in which order. None means no condition."""

    run_id: str
    status: CaseStatus | None = None
    metrics: tuple[Condition, ...] = ()
    """Conditions on a metric's mean; the field is the metric's name."""
    flags: tuple[str, ...] = ()
    """Each must have been raised at least once."""
    flaky: bool | None = None
    flagged: bool | None = None
    failing: bool | None = None
    errors: bool | None = None
    error_kind: str | None = None
    metadata: tuple[Condition, ...] = ()
    positions: frozenset[int] | None = None
    """Only cases at these positions; None for all."""
    text: str | None = None
    """Part of the input or of an answer, ignoring case."""
    sort: str = "position"
    """`position`, `cost`, `latency`, `flakiness` or a metric's name; write `metric.NAME` for a metric with one of
    those names."""
    descending: bool = False
    limit: int = 50
    cursor: str | None = None


class CaseMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A case's scores on one metric. The numbers are None if no sample has a score; see `missing`."""

    mean: float | None
    std: float | None
    min: float | None
    max: float | None
    count: int
    passes: int
    missing: int
    """Samples that should have a score but do not."""
    variability: str | None
    repeat_std: float | None


class CaseFlag(msgspec.Struct, frozen=True, kw_only=True):
    """How often a flag was raised, and how often it was judged."""

    raised: int
    asked: int


class CaseLine(msgspec.Struct, frozen=True, kw_only=True):
    """A case in a list."""

    position: int
    case_id: str
    content_hash: str | None
    """Equal for the same case in another file or run."""
    file: str | None
    line: int | None
    input: str | None
    metadata: dict[str, Any]
    status: CaseStatus
    """`pending` until all samples are done; partial results appear once the run has stopped."""
    error_kinds: tuple[str, ...] = ()
    error_message: str | None = None
    cost: float | None = None
    latency_ms: float | None = None
    """Mean over its samples."""
    flakiness: float | None = None
    """The share of samples in the minority on passing, for the metric where it is largest; at most a half."""
    flaky: bool = False
    """Whether some samples pass and others do not, on any metric."""
    flagged: bool = False
    """Whether any flag was raised."""
    failing: bool = False
    """Whether fewer than half of the scored samples pass, on any metric."""
    started_at: str | None = None
    ended_at: str | None = None
    metrics: dict[str, CaseMetric] = {}
    flags: dict[str, CaseFlag] = {}


class CaseProblems(NamedTuple):
    """How many cases of a run have a problem."""

    flaky: int
    errors: int


class SampleTick(NamedTuple):
    """One sample of a case on one metric."""

    value: float | None
    """None if it has no score."""
    passed: bool | None


class ScoreLine(msgspec.Struct, frozen=True, kw_only=True):
    """One metric's score of one answer."""

    judge: str | None
    """The judge model; None if no judge was asked."""
    value: float | None
    passed: bool | None
    outcome: Literal["scored", "skipped", "failed"]
    reason: str
    details: dict[str, Any]
    repeats: tuple[float | None, ...]
    """The score of each judgement, if the answer was judged more than once."""


class SampleLine(msgspec.Struct, frozen=True, kw_only=True):
    """One answer and its scores."""

    sample: int
    """Starts at 0."""
    attempt: int
    """The attempt that counted, starting at 0."""
    status: SampleStatus
    answer: str | None
    answer_hash: str | None
    """The same hash as in labels."""
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

    @property
    def cut_by(self) -> str | None:
        """Why the answer is not complete, in the service's words."""
        return self.finish_reason if self.finish_reason not in (None, *BY_ITSELF) else None


class CaseDetail(msgspec.Struct, frozen=True, kw_only=True):
    """One case with all its samples."""

    case: CaseLine
    samples: tuple[SampleLine, ...]


class Neighbours(msgspec.Struct, frozen=True, kw_only=True):
    """Where a case is among those that match a query."""

    previous: str | None
    next: str | None
    """The first case of all, if the case itself does not match."""
    place: int | None
    """Starts at 1; None if the case itself does not match."""
    total: int


class StatusTotals(NamedTuple):
    """The runs of one status together."""

    status: str
    runs: int
    cost: float
    input_tokens: int
    output_tokens: int


MOST_NEWS = 1_000
"""Cases that finished lately, read at once."""


class NewsPlace(NamedTuple):
    """A place among the cases of a run in the order in which they ended."""

    ended_at: str
    position: int = -1


class CaseNews(msgspec.Struct, frozen=True, kw_only=True):
    """A case that has just finished."""

    position: int
    case_id: str
    status: CaseStatus
    error_kinds: tuple[str, ...]
    flaky: bool
    flagged: bool
    failing: bool
    ended_at: str
    scores: dict[str, float]
    """The mean of each metric over the case's samples."""

    @property
    def place(self) -> NewsPlace:
        return NewsPlace(self.ended_at, self.position)
