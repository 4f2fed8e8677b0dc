"""A metric over the runs of a dataset: how it went, where it changed, and what else changed there."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.findings import NextStep, Note

Noise = Literal["samples", "all_runs", "neighbours", "series"]
"""Where the errors of means come from. `samples`: how much the samples of a case vary, in each run alone. `all_runs`:
the same over all runs, because at least one has too few samples to tell. `neighbours`: how much a case differs from one
run to the next, because the samples of a case do not vary or there is only one. `series`: how much the mean does."""
FEWEST_RUNS = 4
"""With fewer there is nothing to tell a change from."""


class TrendQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which runs, and which metric. None means: that of the newest run, or all metrics."""

    dataset: str | None = None
    """Name, path, or the beginning of a hash."""
    metric: str | None = None
    judge: str | None = None
    """Model, or the beginning of the judge's hash."""
    model: str | None = None
    where: tuple[Condition, ...] = ()
    limit: int = 50
    """The newest so many."""
    metric_threshold: float = 0.1
    """Smallest change that matters, on a scale from 1 to 5; other scales use it in proportion."""


class RunVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a dataset and of a judge, and the finished runs with both."""

    dataset_name: str | None
    dataset_path: str | None
    dataset_hash: str | None
    judge_model: str | None
    judge_hash: str | None
    runs: int
    last: str
    """When the newest one was started."""


class CaseNoise(msgspec.Struct, frozen=True, kw_only=True):
    """How much the samples of a case vary in one run: sums over some or all of its cases, for one metric."""

    cases: int
    inverse_counts: float
    """Of 1 / samples."""
    several_inverse_counts: float
    """The same over the cases with at least two samples, as the next three are."""
    squares: float
    """Of variance / samples: the part of these cases in the squared error of the mean, times the cases squared."""
    fourths: float
    """Of (variance / samples)² / (samples - 1)."""
    spare: float
    """Of samples - 1."""


class TrendDifference(msgspec.Struct, frozen=True, kw_only=True):
    """Something that differs between a run and the one before."""

    what: str
    """`prompt`, `model`, `rubric`, `metric`, or the name of a parameter."""
    before: Any
    after: Any
    """Hashes of prompts, rubrics and metrics."""
    text: str
    """Such as `prompt 3f2a9b1c → 9c1e0d4f`."""


class TrendPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the series."""

    run_id: str
    started_at: str
    status: str
    mean: float
    error: float | None
    """Standard error of repeating the run with the same cases; None if it cannot be told."""
    cases: int
    """With a score."""
    prompt_version: str | None
    prompt_hash: str | None
    generator_model: str | None
    synthetic: bool | None
    differences: tuple[TrendDifference, ...]
    """From the run before."""
    blip: bool = False
    """Whether it is far off while the runs before and after it agree."""


class TrendChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change of level."""

    run_id: str
    """The first run of the new level."""
    previous_run_id: str
    started_at: str
    before: float
    after: float
    low: float
    high: float
    """95 % interval of after - before."""
    p_value: float
    differences: tuple[TrendDifference, ...]
    """What changed since the previous run: the suspects."""
    nearby: tuple[TrendDifference, ...]
    """What changed one run earlier or later, if nothing changed there."""
    newest: bool
    """Whether it is the last run, so that the next one has to confirm it."""


class LeftOutRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is not comparable with the others."""

    run_id: str
    started_at: str
    reason: str
    """Goes behind the run's name, such as `has scores for 3 of 100 cases`."""


class MetricTrend(msgspec.Struct, frozen=True, kw_only=True):
    """One metric over all runs."""

    name: str
    scale: tuple[float, float]
    digits: int
    points: tuple[TrendPoint, ...]
    """Oldest first."""
    changes: tuple[TrendChange, ...]
    noise: Noise | None
    """None if there are too few runs to look for changes, or all means are equal."""
    common_cases: int | None
    """Cases that all runs have scored and that the means are about; None if all have scored the same."""
    left_out: tuple[LeftOutRun, ...]
    """Runs that have scored too few of these cases."""
    excess_std: float | None
    """How much runs differ beyond their samples, as a standard deviation; None if samples explain it."""
    excess_included: bool
    """Whether the errors include it, because repeats of the same configuration show it."""


class MetricFindings(msgspec.Struct, frozen=True, kw_only=True):
    """What to say about one metric."""

    sentence: str
    changes: tuple[str, ...]
    """A paragraph for each change."""
    notes: tuple[Note, ...]


class Trends(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one version of a dataset and one judge over time."""

    version: RunVersion
    others: tuple[RunVersion, ...]
    """Other versions of the same dataset, and other judges."""
    runs: int
    more_runs: bool
    """Whether there are older runs."""
    metrics: tuple[MetricTrend, ...]
    """One if it was asked for, otherwise all of the newest run."""
    left_out: tuple[LeftOutRun, ...]
    models: tuple[str, ...]


class TrendFindings(msgspec.Struct, frozen=True, kw_only=True):
    """What to say about the runs."""

    heading: str
    metrics: dict[str, MetricFindings]
    notes: tuple[Note, ...]
    next_step: NextStep | None
