"""Results of a run, with the field names and order of its artifacts."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from prompt_evaluator.model.bars import MissedBar
from prompt_evaluator.model.call import Outcome, Sent
from prompt_evaluator.model.message import Message, ToolCall
from prompt_evaluator.model.run import CallFailure, CaseStatus, RunStatus, SampleStatus


class CriterionScore(msgspec.Struct, frozen=True, gc=False):
    """A judge's score on one criterion of the rubric."""

    score: float
    rationale: str
    passed: bool | None = None
    """Whether the score reaches the criterion's `pass_at`."""


class RepeatResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One of several judgements of the same answer by the rubric."""

    metrics: dict[str, CriterionScore] | None
    flags: dict[str, bool] | None
    error: str | None


class MetricScore(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An answer's score on a metric outside the rubric."""

    status: Literal["scored", "skipped", "failed"]
    score: float | None
    passed: bool | None
    reason: str
    details: dict[str, Any] = {}
    repeats: tuple[float | None, ...] | None = None
    """The score of each judgement, if the answer was judged more than once; `score` is their mean."""


class AttemptResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An earlier answer that does not count because it missed a pass mark."""

    attempt: int
    generator_output: str | None
    failed_checks: tuple[str, ...]
    """Names of the scores that did not pass."""
    error: CallFailure | None
    latency_ms: float | None = None
    """Of the successful try; None if the call failed, and in results of earlier versions."""


class SampleResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One answer and its scores."""

    sample_id: str
    input_text: str
    generator_output: str | None
    status: SampleStatus
    task_description: str | None
    judge_metrics: dict[str, CriterionScore]
    judge_flags: dict[str, bool]
    judge_overall_comment: str | None
    judge_raw_response: str | None
    judge_repeats: tuple[RepeatResult, ...] | None
    """Only if each answer is judged more than once."""
    scores: dict[str, MetricScore]
    """By metric; the rubric's scores are in `judge_metrics`."""
    attempt: int
    """The attempt that counted, starting at 0."""
    earlier_attempts: tuple[AttemptResult, ...]
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str | None
    outcome: Outcome | None = None
    """How the answer ended; None without an answer."""
    sent: Sent | None = None
    """The parameters that went to the service, and those left out; None if there were none to send."""
    model: str | None
    """The model that actually answered."""
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int = 0
    """The part of the input that was read from the service's cache."""
    cache_write_tokens: int = 0
    """The part of the input that was written to the service's cache."""
    reasoning_tokens: int | None = None
    """The part of the output that is not in the text; None if the service does not report it."""
    cost: float | None
    """US dollars for all answers of this sample, and for failed calls that were billed; None if no price is known."""
    latency_ms: float | None
    tries: int | None
    time_outs: int = 0
    """Tries that timed out, in calls for answers and judgements. They may have been billed; no cost includes them."""
    judge_input_tokens: int | None
    judge_output_tokens: int | None
    judge_cached_tokens: int = 0
    """The part of the judge's input that was read from the service's cache."""
    judge_cost: float | None
    """US dollars for the judge's replies with a known price; None if no price is known."""
    unpriced_calls: int
    """Answers and judge replies without a known price, which the two costs leave out."""
    synthetic: bool
    reused: bool
    reused_cost: float | None
    """The part of the costs above that was reused, in US dollars; None if nothing was."""
    error: CallFailure | None
    error_metric: str | None
    """The metric that failed; None if the answer itself did."""

    def passes(self) -> dict[str, tuple[float, bool]]:
        """Every score of the rubric and the metrics by name, and whether it passes."""
        judged = {name: (each.score, bool(each.passed)) for name, each in self.judge_metrics.items()}
        return judged | {
            name: (each.score, bool(each.passed)) for name, each in self.scores.items() if each.score is not None
        }


class MetricStats(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One case's scores on one metric."""

    mean: float
    std: float | None
    min: float
    max: float
    count: int
    interval: tuple[float, float] | None
    variability: str | None
    wide_range: bool
    repeat_std: float | None
    """How much the judge disagrees with itself about the same answer; None if it was asked once."""
    passed: int
    """Samples that reach the pass mark: a metric's `threshold`, or a criterion's `pass_at`."""
    pass_rate: float
    pass_interval: tuple[float, float]
    """95 % Wilson interval."""


class FlagStats(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How often a flag was raised."""

    true_count: int
    false_count: int
    total_count: int
    true_proportion: float | None


class CaseResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One case with all its samples."""

    test_case_id: str
    test_case_input: str
    test_case_metadata: dict[str, Any]
    test_case_description: str | None
    test_case_task: str | None
    test_case_expected_constraints: str | None
    test_case_reference: str | None
    test_case_references: tuple[str, ...]
    """Further good answers, each as good as the reference."""
    test_case_file: str | None
    test_case_line: int | None
    messages: tuple[Message, ...]
    """What was sent, including passages and conversation. The system prompt is left out if it is the run's own."""
    num_samples: int
    samples: tuple[SampleResult, ...]
    per_metric_stats: dict[str, MetricStats]
    missing_scores: dict[str, int]
    """Samples that should have a score but do not, by metric; empty if all have one."""
    per_flag_stats: dict[str, FlagStats]
    status: CaseStatus
    timestamp_start: str | None
    timestamp_end: str | None
    error_message: str | None


class OverallMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A metric over all cases that have at least one valid score."""

    mean_of_means: float
    min_of_means: float
    max_of_means: float
    num_cases: int
    interval: tuple[float, float] | None
    """95 % interval: Student's t over the case means, clipped to the scale; exact (Clopper-Pearson) if every case is at
    an end of the scale; None below five cases."""
    bounds: tuple[float, float] | None
    """The mean if every sample without a score had the worst or the best one; None if all have a score."""
    std: float | None
    """Mean of the cases' standard deviations."""
    repeat_std: float | None
    variability: str | None
    high_variability_cases: int
    fail_under: float | None
    below: bool
    """Whether the mean is below `fail_under`."""
    near: bool
    """Whether `fail_under` lies within the interval, so that more samples could change `below`."""
    scale: tuple[float, float]
    pass_rate: float | None
    """Mean of the cases' pass rates."""
    pass_interval: tuple[float, float] | None
    """Exact 95 % interval of the pass rate, counting a case's samples as one; None below five cases."""
    flaky_cases: int
    """Cases that pass sometimes."""
    wide_range_cases: int = 0
    """Cases whose scores lie three quarters of the scale apart or more."""
    skipped: int
    """Samples of cases that lack what the metric needs."""
    failed: int
    """Samples without an answer, or for which the metric failed."""
    reduced: dict[str, float]
    """Mean over the cases that have enough samples, by reducer."""


class OverallFlag(FlagStats, frozen=True, kw_only=True):
    """A flag over all cases."""

    interval: tuple[float, float] | None
    """Exact 95 % interval of the proportion, counting a case's samples as one; None below five cases."""
    band: str | None
    fail_over: float | None = None
    above: bool = False
    """Whether the share is above `fail_over`."""


class WorstCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case worth looking at first."""

    test_case_id: str
    metric: str
    mean: float
    std: float | None


class FailureCount(msgspec.Struct, frozen=True, kw_only=True):
    """How often the same kind of failure happened."""

    metric: str | None
    """The metric that failed; None if there was no answer."""
    kind: str
    message: str
    """Message of the first one."""
    count: int


class RunTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Totals of a run."""

    cases: dict[str, int]
    """Counts by status."""
    samples: dict[str, int]
    """Counts by status."""
    errors: dict[str, int]
    """Counts by error class."""
    failures: tuple[FailureCount, ...]
    """Most frequent reasons first, with counts; messages that differ only in numbers count as one."""
    reasons: int = 0
    """Number of different reasons; `failures` lists at most five."""
    error_share: float
    """Share of the attempted samples that lack a score."""
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    """The part of the input that was read from a cache of the service."""
    cost: float | None
    """US dollars paid for answers and judgements; None if no price is known."""
    unpriced_calls: int
    time_outs: int = 0
    """Tries that timed out. They may have been billed; `cost` does not include them."""
    reused_units: int
    skipped: dict[str, int]
    """Samples of cases that lack what a metric needs, by metric."""
    refused_parameters: dict[str, int] = {}
    """Samples without a parameter that the service has refused, by parameter."""
    outcomes: dict[str, int] = {}
    """Answers that are not complete texts, by outcome; `empty` ones ended by themselves without a text, `empty_length`
    are those cut before any text."""


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a run: how good its answers are, and how stable."""

    run_id: str
    status: RunStatus
    overall_metric_stats: dict[str, OverallMetric]
    overall_flag_stats: dict[str, OverallFlag]
    not_measured: dict[str, str] = {}
    """Why no sample has a value, by metric or flag."""
    missed_bars: tuple[MissedBar, ...] = msgspec.field(default=(), name="bars_missed")
    """Stored under its own name: stores of earlier versions have metric names under `missed_bars`."""
    totals: RunTotals
    worst: tuple[WorstCase, ...]
    flakiest: tuple[WorstCase, ...]
