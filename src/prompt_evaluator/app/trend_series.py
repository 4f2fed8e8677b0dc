"""One metric over several runs: means, errors and changes."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.findings import digits
from prompt_evaluator.app.trend_changes import Series, Stamp, analysed, trend_changes
from prompt_evaluator.app.trend_differences import run_differences
from prompt_evaluator.app.trend_errors import MeasuredRun, standard_errors
from prompt_evaluator.model.trend import LeftOutRun, MetricTrend, TrendPoint
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.trend_errors import Errors
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.model.result import OverallMetric
    from prompt_evaluator.model.trend import TrendDifference
    from prompt_evaluator.store import Store

_COVERED = 0.9
"""Runs that have scored a smaller share of the cases would leave too few that all have in common."""
_GUIDE_SCALE = 4.0
"""The size of the scale from 1 to 5, for which the threshold is given."""


class StoredRun(NamedTuple):
    """A run as listed, and its plan."""

    line: RunLine
    plan: RunPlan

    def stats(self, metric: str) -> OverallMetric | None:
        return self.line.summary.overall_metric_stats.get(metric) if self.line.summary else None


class _Series(NamedTuple):
    metric: str
    runs: list[StoredRun]
    measured: list[MeasuredRun]
    common: int | None
    left_out: tuple[LeftOutRun, ...]


def metric_trend(store: Store, runs: Sequence[StoredRun], metric: str, threshold: float) -> MetricTrend:
    """Return the trend of a metric over the runs that have it, oldest first. At least one has it."""
    series = _series(store, [run for run in runs if run.stats(metric)], metric)
    last = series.runs[-1]
    stats = last.stats(metric)
    scale = stats.scale if stats else (0.0, 1.0)
    differences = [(), *(run_differences(a.plan, b.plan, metric) for a, b in pairwise(series.runs))]
    stamps = [Stamp(run.line.run_id, run.line.started_at) for run in series.runs]
    means = Series(stamps, [each.mean for each in series.measured], differences)
    errors = standard_errors(store, series.measured, metric, last.plan.dataset.selected)
    found = analysed(means, errors, smallest=threshold * (scale[1] - scale[0]) / _GUIDE_SCALE)

    def since(before: int, at: int) -> tuple[TrendDifference, ...]:
        return run_differences(series.runs[before].plan, series.runs[at].plan, metric)

    return MetricTrend(
        name=metric,
        scale=scale,
        digits=digits(scale),
        points=tuple(_points(series, found.errors, differences, found.changes.blips)),
        changes=trend_changes(means, found, since),
        noise=found.errors.noise if found.errors else None,
        common_cases=series.common,
        left_out=series.left_out,
        excess_std=math.sqrt(found.excess.variance) if found.excess else None,
        excess_included=found.included,
    )


def _series(store: Store, runs: Sequence[StoredRun], metric: str) -> _Series:
    """The means over the cases that all runs have scored. Runs with far fewer cases than the others are left out."""
    copies = _copies(runs, metric)
    runs = [run for run in runs if run not in copies]
    counted = {run.line.run_id: stats for run in runs if (stats := run.stats(metric))}
    most = max(stats.num_cases for stats in counted.values())
    kept = [run for run in runs if counted[run.line.run_id].num_cases >= _COVERED * most]
    means = {run_id: stats.mean_of_means for run_id, stats in counted.items()}
    cases = most
    if any(stats.num_cases < most or stats.failed for stats in counted.values()):
        cases, means = store.common_means([run.line.run_id for run in kept], metric)
    while 2 * cases < most and len(kept) > 1:
        kept.remove(min(kept, key=lambda run: counted[run.line.run_id].num_cases))
        cases, means = store.common_means([run.line.run_id for run in kept], metric)
    left_out = tuple(_left_out(run, "reuses the answers and scores of an earlier run") for run in copies)
    left_out += tuple(
        _left_out(run, f"has scores for {counted[run.line.run_id].num_cases:,} of {many(most, 'case')}")
        for run in runs
        if run not in kept
    )
    measured = [MeasuredRun(run.line.run_id, means[run.line.run_id], cases) for run in kept]
    return _Series(metric, kept, measured, cases if cases < most else None, left_out)


def _copies(runs: Sequence[StoredRun], metric: str) -> list[StoredRun]:
    """Runs that were reused from an earlier one of the same target: they tell nothing new about it."""
    seen: set[bytes] = set()
    found = []
    for run in runs:
        same = msgspec.json.encode((run.plan.target, run.stats(metric)))
        if same in seen and run.line.summary and run.line.summary.totals.reused_units:
            found.append(run)
        seen.add(same)
    return found


def _left_out(run: StoredRun, reason: str) -> LeftOutRun:
    return LeftOutRun(run_id=run.line.run_id, started_at=run.line.started_at, reason=reason)


def _points(
    series: _Series,
    errors: Errors | None,
    differences: Sequence[tuple[TrendDifference, ...]],
    blips: Sequence[int],
) -> list[TrendPoint]:
    return [
        TrendPoint(
            run_id=run.line.run_id,
            started_at=run.line.started_at,
            status=run.line.status,
            mean=measured.mean,
            error=errors.values[at] if errors else None,
            cases=measured.cases,
            prompt_version=run.line.prompt_version,
            prompt_hash=run.line.prompt_hash,
            generator_model=run.line.generator_model,
            synthetic=run.line.synthetic,
            differences=differences[at],
            blip=at in blips,
        )
        for at, (run, measured) in enumerate(zip(series.runs, series.measured, strict=True))
    ]
