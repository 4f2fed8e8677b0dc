"""What a run comes to, in the words and the order of its artifacts."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from prompt_evaluator.model.bars import MissedBar
from prompt_evaluator.model.message import Message, ToolCall
from prompt_evaluator.model.run import CallFailure, CaseStatus, RunStatus, SampleStatus


class CriterionScore(msgspec.Struct, frozen=True):
    """What a rubric's judge said by one criterion."""

    score: float
    rationale: str
    passed: bool | None = None
    """Whether the score reaches the criterion's `pass_at`."""


class RepeatResult(msgspec.Struct, frozen=True, kw_only=True):
    """One of several judgements of the same answer by the rubric."""

    metrics: dict[str, CriterionScore] | None
    flags: dict[str, bool] | None
    error: str | None


class MetricScore(msgspec.Struct, frozen=True, kw_only=True):
    """What a metric other than the rubric said about an answer."""

    status: Literal["scored", "skipped", "failed"]
    score: float | None
    passed: bool | None
    reason: str
    details: dict[str, Any] = {}
    repeats: tuple[float | None, ...] | None = None
    """The score of each judgement, where the answer was judged more than once; `score` is their mean."""


class AttemptResult(msgspec.Struct, frozen=True, kw_only=True):
    """An answer that was asked for before the one that decides, because it missed a pass mark."""

    attempt: int
    generator_output: str | None
    failed_checks: tuple[str, ...]
    """The names of the scores that did not pass."""
    error: CallFailure | None


class SampleResult(msgspec.Struct, frozen=True, kw_only=True):
    """One answer and what was said about it."""

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
    """Only where each answer is judged more than once."""
    scores: dict[str, MetricScore]
    """By metric; a rubric's scores are in `judge_metrics`."""
    attempt: int
    """Which attempt decided, counted from 0."""
    earlier_attempts: tuple[AttemptResult, ...]
    tool_calls: tuple[ToolCall, ...]
    finish_reason: str | None
    model: str | None
    """The model that really answered."""
    input_tokens: int | None
    output_tokens: int | None
    cost: float | None
    """US dollars of all answers of this sample; None when the price of none is known."""
    latency_ms: float | None
    tries: int | None
    time_outs: int = 0
    """Tries that timed out, of calls for answers and judgements. Each may have been paid for, and is in no cost."""
    judge_input_tokens: int | None
    judge_output_tokens: int | None
    judge_cost: float | None
    """US dollars of the judge's replies whose price is known; None when that of none is."""
    unpriced_calls: int
    """Answers and judge's replies whose price is not known, and which the two costs leave out."""
    synthetic: bool
    reused: bool
    reused_cost: float | None
    """US dollars of what was reused, which is a part of the costs above; None where nothing was."""
    error: CallFailure | None
    error_metric: str | None
    """The metric that the error is about; None for the answer itself."""

    def passes(self) -> dict[str, tuple[float, bool]]:
        """Every score there is, a rubric's and those of metrics alike, with whether it passes."""
        judged = {name: (each.score, bool(each.passed)) for name, each in self.judge_metrics.items()}
        return judged | {
            name: (each.score, bool(each.passed)) for name, each in self.scores.items() if each.score is not None
        }


class MetricStats(msgspec.Struct, frozen=True, kw_only=True):
    """The scores of one case by one metric."""

    mean: float
    std: float | None
    min: float
    max: float
    count: int
    interval: tuple[float, float] | None
    variability: str | None
    wide_range: bool
    repeat_std: float | None
    """How much the judge disagrees with itself about the same answer; None when it was asked once."""
    passed: int
    """Samples that reach the pass mark: a metric's `threshold`, or a criterion's `pass_at`."""
    pass_rate: float
    pass_interval: tuple[float, float]
    """95 %, by Wilson."""


class FlagStats(msgspec.Struct, frozen=True, kw_only=True):
    """How often a flag was raised."""

    true_count: int
    false_count: int
    total_count: int
    true_proportion: float | None


class CaseResult(msgspec.Struct, frozen=True, kw_only=True):
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
    """What was sent, passages and conversation included. The system prompt is left out where it is the run's own."""
    num_samples: int
    samples: tuple[SampleResult, ...]
    per_metric_stats: dict[str, MetricStats]
    missing_scores: dict[str, int]
    """By metric, samples that ought to have a score and have none; nothing where all have one."""
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
    """95 %, by Student's t over the cases' means, cut at the ends of the scale; exact (Clopper-Pearson) where every
    case is at an end of it; None below five cases."""
    bounds: tuple[float, float] | None
    """Where the mean would lie if every sample without a score had the worst or the best; None when all have one."""
    std: float | None
    """The mean of the cases' standard deviations."""
    repeat_std: float | None
    variability: str | None
    high_variability_cases: int
    fail_under: float | None
    below: bool
    """Whether the mean is below `fail_under`."""
    near: bool
    """Whether `fail_under` lies within the interval, so that more samples could change the answer."""
    scale: tuple[float, float]
    pass_rate: float | None
    """The mean of the cases' pass rates."""
    pass_interval: tuple[float, float] | None
    """95 % of the pass rate, exact, with a case's samples counted as one; None below five cases."""
    flaky_cases: int
    """Cases that pass sometimes."""
    wide_range_cases: int = 0
    """Cases whose scores lie three quarters of the scale apart or more."""
    skipped: int
    """Samples of cases that do not have what the metric needs."""
    failed: int
    """Samples for which the metric broke, or that have no answer."""
    reduced: dict[str, float]
    """By reducer, the mean over the cases that have enough samples."""


class OverallFlag(FlagStats, frozen=True, kw_only=True):
    """A flag over all cases."""

    interval: tuple[float, float] | None
    """95 % of the share, exact, with a case's samples counted as one; None below five cases."""
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
    """How often something went wrong in the same way."""

    metric: str | None
    """The metric that broke; None where there was no answer."""
    kind: str
    message: str
    """Of the first one."""
    count: int


class RunTotals(msgspec.Struct, frozen=True, kw_only=True):
    """What happened in a run, counted."""

    cases: dict[str, int]
    """By status."""
    samples: dict[str, int]
    """By status."""
    errors: dict[str, int]
    """By the error's class."""
    failures: tuple[FailureCount, ...]
    """The most frequent reasons first, each with how often it was given; numbers in a message aside."""
    reasons: int = 0
    """How many different reasons there are. `failures` lists at most five of them."""
    error_share: float
    """Of the samples that were tried, the share that lacks a score."""
    input_tokens: int
    output_tokens: int
    cost: float | None
    """US dollars that the run has paid for answers and judgements; None when nothing has a known price."""
    unpriced_calls: int
    time_outs: int = 0
    """Tries that timed out. Each may have been paid for, and is not in `cost`."""
    reused_units: int
    skipped: dict[str, int]
    """By metric, samples of cases that do not have what it needs."""


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """A run's answer to "is it good, and is it stable"."""

    run_id: str
    status: RunStatus
    overall_metric_stats: dict[str, OverallMetric]
    overall_flag_stats: dict[str, OverallFlag]
    not_measured: dict[str, str] = {}
    """By metric or flag that no sample has a value of, why."""
    missed_bars: tuple[MissedBar, ...] = msgspec.field(default=(), name="bars_missed")
    """Stored under a name of its own: stores of earlier versions have the names of metrics under the other."""
    totals: RunTotals
    worst: tuple[WorstCase, ...]
    flakiest: tuple[WorstCase, ...]
