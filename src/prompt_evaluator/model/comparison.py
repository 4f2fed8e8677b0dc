"""Runs side by side: what is known of each, what differs between them, and whether one is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

import msgspec

from prompt_evaluator.model.query import CaseFlag

if TYPE_CHECKING:
    from collections.abc import Sequence

CompareVerdict = Literal["better", "worse", "no_difference", "inconclusive"]
"""`better` and `worse`: significant and beyond the threshold. `no_difference`: the interval lies within the threshold.
`inconclusive`: anything else; more cases or samples would tell."""
CaseClass = Literal["worse", "better", "same", "too_few"]
"""`too_few`: fewer than three samples on one side, or their scores are not known."""
CLASSES: tuple[CaseClass, ...] = get_args(CaseClass)
"""All classes; columns of many cases hold places in it."""
Method = Literal["paired_t", "exact_paired", "exact_bound"]
"""`exact_paired`: McNemar's test, for pass or fail with one sample per case. `exact_bound`: all cases differ by the
same amount, often 0, so that there is no spread to test against."""
SideName = Literal["baseline", "candidate"]


class CompareOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What to compare by."""

    metric_threshold: float = 0.1
    """Smallest difference of means that matters, on a scale from 1 to 5; other scales use it in proportion."""
    flag_threshold: float = 0.05
    """Smallest difference of shares that matters."""
    allow_different: bool = False
    """Compare the common, unchanged cases of runs with different datasets, rubrics or judges."""
    slices: tuple[str, ...] | None = None
    """Metadata keys to slice by; None for every key that divides the cases into a few groups."""


class RunFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a run to be compared; what a file leaves out is None."""

    name: str
    """A short name for people: the beginning of its id, or the path of its file."""
    run_id: str | None = None
    path: str | None = None
    """The file it was read from; None for a stored run."""
    status: str | None = None
    started_at: str | None = None
    dataset_name: str | None = None
    dataset_hash: str | None = None
    prompt_path: str | None = None
    prompt_hash: str | None = None
    prompt_version: str | None = None
    prompt_text: str | None = None
    generator_model: str | None = None
    parameters: dict[str, Any] = {}
    """The generator's parameters that are known, and what else decides what is sent, such as templates."""
    judge_model: str | None = None
    judge_hash: str | None = None
    judge_parameters: dict[str, Any] = {}
    rubric_name: str | None = None
    rubric_hash: str | None = None
    rubric_text: str | None = None
    """The rubric as text that can be compared line by line."""
    metric_definitions: dict[str, Any] | None = None
    """The metrics for every case outside the rubric, by name: what was asked for, with options and judge."""
    tags: dict[str, str] = {}
    note: str | None = None
    num_samples: int | None = None
    cases: int | None = None
    """How many cases it has."""
    synthetic: bool | None = None
    scales: dict[str, tuple[float, float]] = {}
    """By metric, in the order of the run."""
    samples: int | None = None
    """Samples that were attempted."""
    errors: dict[str, int] | None = None
    """Counts by error class; None if unknown."""
    failed_samples: int | None = None
    """Samples without an answer or without a score."""
    cost: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    latency_ms: float | None = None
    """Mean time of an answer: over the samples of each case, then over cases."""


class CaseScores(msgspec.Struct, frozen=True):
    """One case's scores on one metric in one run."""

    mean: float
    std: float | None
    count: int
    passes: int | None
    """None if unknown."""
    missing: int
    """Samples that should have a score but do not."""
    values: tuple[float, ...] | None
    """The score of each sample that has one; None if unknown."""


class ComparedCase(msgspec.Struct, frozen=True):
    """One case of one run."""

    case_id: str
    content_hash: str | None
    """Differs between runs if the case was changed in between; None if unknown."""
    metadata: dict[str, Any]
    scores: dict[str, CaseScores]
    """By metric; only metrics with at least one score."""
    flags: dict[str, CaseFlag]
    """Only flags that were judged at least once."""
    input_hash: str | None = None
    """Of the input alone, which files have too."""
    unscored: dict[str, int] = {}
    """By metric, samples that should have a score, where none has one."""
    cost: float | None = None
    """Of all its samples; None if unknown."""
    latency_ms: float | None = None
    """Mean time of an answer; None if unknown."""

    def is_changed(self, other: ComparedCase) -> bool:
        """Whether it is known to differ from the same case of another run."""
        if self.content_hash and other.content_hash:
            return self.content_hash != other.content_hash
        return bool(self.input_hash and other.input_hash) and self.input_hash != other.input_hash


class ComparedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One sample of a case, to be shown beside another run's."""

    sample: int
    """Starts at 0."""
    answer: str | None
    error: str | None
    scores: dict[str, float]
    reasons: dict[str, str]
    """By metric; empty texts are left out."""
    flags: tuple[str, ...]
    """Those that were raised."""


class PairedResult(msgspec.Struct, frozen=True, kw_only=True):
    """A difference between two runs over the cases that both have measured. None where nothing can be said."""

    cases: int
    """Common cases measured in both."""
    difference: float | None
    """Candidate minus baseline."""
    low: float | None
    high: float | None
    """95 % interval of the difference; None below five cases."""
    p_value: float | None
    """Two-sided; None below five cases."""
    method: Method | None
    effect_size: float | None
    """The difference in standard deviations of the cases' differences (Cohen's d for pairs); None without spread."""
    wins: int
    losses: int
    ties: int
    """Cases in which the candidate's mean is higher (for a flag: raised less often), lower, and equal."""
    threshold: float
    """The smallest difference that matters, on this scale."""
    verdict: CompareVerdict
    missing: SideName | None
    """The side on which nothing was measured; then the verdict is `worse`."""
    more_cases_needed: int | None
    """How many more cases would show a difference of the threshold four times in five; 0 if there are enough."""
    more_samples_needed: int | None
    """How many more samples per case would do the same; None if no number of samples would, or if there is only one
    per case, which does not say how much samples vary."""
    detectable: float | None
    """The smallest difference that the cases at hand show four times in five."""


class MetricComparison(PairedResult, frozen=True, kw_only=True):
    """One metric in two runs."""

    baseline_mean: float | None
    candidate_mean: float | None
    """Over the common cases; over all its cases if the metric is missing on the other side."""
    scale: tuple[float, float]
    case_classes: dict[CaseClass, int]
    """How many cases are in each class."""


class FlagComparison(PairedResult, frozen=True, kw_only=True):
    """One flag in two runs; raised more often is worse."""

    baseline_share: float | None
    candidate_share: float | None


class CaseComparison(msgspec.Struct, frozen=True, kw_only=True, rename={"class_": "class"}):
    """One case on one metric in two runs."""

    test_case_id: str
    metric: str
    baseline: float
    candidate: float
    """Mean of its samples."""
    class_: CaseClass
    """`worse` and `better` hold after the correction for many cases (Benjamini-Hochberg at 10 %)."""
    p_value: float | None
    """One-sided, in the direction of the difference, before the correction; None for `too_few`."""


class SliceComparison(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over the common cases with one value of a metadata key."""

    key: str
    value: str
    metric: str
    cases: int
    baseline_mean: float
    candidate_mean: float
    difference: float
    low: float | None
    high: float | None
    """95 % interval, not corrected."""
    p_value: float | None
    """Corrected for all slices and metrics that were compared (Holm)."""
    verdict: CompareVerdict


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Something that differs between two runs."""

    baseline: Any
    candidate: Any
    diff: str | None = None
    """Of texts: a unified diff."""


class DatasetChange(msgspec.Struct, frozen=True, kw_only=True):
    """How the cases of two runs differ: how many, and the ids of the first twenty of each kind."""

    added: int
    removed: int
    changed: int
    added_ids: tuple[str, ...]
    removed_ids: tuple[str, ...]
    changed_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs side by side."""

    baseline: RunFacts
    candidate: RunFacts
    common_cases: int
    """Cases that both runs have and that were not changed in between."""
    metrics: dict[str, MetricComparison]
    flags: dict[str, FlagComparison]
    cases: Sequence[CaseComparison]
    """Every common case on every metric, the most certain drop first, the most certain gain last. Made on access from
    compact columns: a run may have a hundred thousand."""
    slices: tuple[SliceComparison, ...]
    """The most certain drop first."""
    slice_comparisons: int
    """How many slices × metrics were compared, and corrected for."""
    differs: dict[str, Change | DatasetChange]
    """Only what differs: `prompt`, `prompt_version`, `model`, `parameters.NAME`, `judge`, `judge_parameters.NAME`,
    `rubric`, `metrics.NAME` (how a metric was set up), `samples`, `dataset`, `cases`."""
    warnings: tuple[str, ...]
    """Sentences on what makes the comparison weaker, such as a run that is unfinished."""
