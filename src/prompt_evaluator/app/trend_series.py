"""One metric over several runs: means, errors and changes."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.findings import digits
from prompt_evaluator.app.trend_differences import run_differences
from prompt_evaluator.app.trend_errors import Errors, MeasuredRun, standard_errors
from prompt_evaluator.model.trend import FEWEST_RUNS, LeftOutRun, MetricTrend, TrendChange, TrendPoint
from prompt_evaluator.model.wording import many
from prompt_evaluator.stats.changes import Changes, find_changes
from prompt_evaluator.stats.distributions import normal_quantile, t_quantile
from prompt_evaluator.stats.excess import Excess, excess_of_repeats, excess_within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.model.result import OverallMetric
    from prompt_evaluator.model.trend import TrendDifference
    from prompt_evaluator.stats.changes import ChangePoint
    from prompt_evaluator.store import Store

_LEVEL = 0.05
_NOTED = 0.01
"""Less than this chance of the variance between runs is worth a note: it is shown without being asked for."""
_FEWEST_REPEATS = 5
"""Pairs of neighbouring runs with the same configuration, to tell how much such runs differ."""
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

    @property
    def means(self) -> list[float]:
        return [each.mean for each in self.measured]


def metric_trend(store: Store, runs: Sequence[StoredRun], metric: str, threshold: float) -> MetricTrend:
    """Return the trend of a metric over the runs that have it, oldest first. At least one has it."""
    series = _series(store, [run for run in runs if run.stats(metric)], metric)
    last = series.runs[-1]
    stats = last.stats(metric)
    scale = stats.scale if stats else (0.0, 1.0)
    errors = standard_errors(store, series.measured, metric, last.plan.dataset.selected)
    differences = [(), *(run_differences(a.plan, b.plan, metric) for a, b in pairwise(series.runs))]
    errors, excess = _widened(series.means, errors, differences)
    included = excess is not None
    changes = Changes((), ())
    if errors and len(series.runs) >= FEWEST_RUNS:
        smallest = threshold * (scale[1] - scale[0]) / _GUIDE_SCALE
        changes = find_changes(series.means, errors.values, smallest=smallest, freedom=errors.freedom)
        excess = excess or _left(series.means, errors, changes)
    return MetricTrend(
        name=metric,
        scale=scale,
        digits=digits(scale),
        points=tuple(_points(series, errors, differences, changes.blips)),
        changes=tuple(_change(series, point, errors, differences, changes.blips) for point in changes.points),
        noise=errors.noise if errors else None,
        common_cases=series.common,
        left_out=series.left_out,
        excess_std=math.sqrt(excess.variance) if excess else None,
        excess_included=included,
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


def _widened(
    means: Sequence[float], errors: Errors | None, differences: Sequence[Sequence[TrendDifference]]
) -> tuple[Errors | None, Excess | None]:
    """Errors that include how much repeats of the same configuration differ beyond their samples."""
    if errors is None or errors.noise not in ("samples", "all_runs"):
        return errors, None
    squares = [value**2 for value in errors.values]
    pairs = [
        (means[at] - means[at - 1], squares[at] + squares[at - 1]) for at in range(1, len(means)) if not differences[at]
    ]
    excess = excess_of_repeats(pairs)
    if len(pairs) < _FEWEST_REPEATS or excess.p >= _LEVEL or not excess.variance:
        return errors, None
    return errors._replace(values=[math.sqrt(square + excess.variance) for square in squares]), excess


def _left(means: Sequence[float], errors: Errors, changes: Changes) -> Excess | None:
    """The variance between changes that samples do not explain."""
    if errors.noise not in ("samples", "all_runs"):
        return None
    kept = [at for at in range(len(means)) if at not in changes.blips]
    cuts = [kept.index(point.index) for point in changes.points]
    excess = excess_within([means[at] for at in kept], [errors.values[at] for at in kept], cuts)
    return excess if excess.p < _NOTED and excess.variance else None


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


def _change(
    series: _Series,
    point: ChangePoint,
    errors: Errors | None,
    differences: Sequence[tuple[TrendDifference, ...]],
    blips: Sequence[int],
) -> TrendChange:
    freedom = errors.freedom if errors else None
    half = (t_quantile(0.975, freedom) if freedom else normal_quantile(0.975)) * point.error
    at, before = point.index, point.index - 1
    while before in blips:
        before -= 1
    since = run_differences(series.runs[before].plan, series.runs[at].plan, series.metric)
    near = [*differences[at - 1], *(differences[at + 1] if at + 1 < len(differences) else ())]
    return TrendChange(
        run_id=series.runs[at].line.run_id,
        previous_run_id=series.runs[before].line.run_id,
        started_at=series.runs[at].line.started_at,
        before=point.before,
        after=point.after,
        low=point.after - point.before - half,
        high=point.after - point.before + half,
        p_value=point.p,
        differences=since,
        nearby=() if since else tuple(near),
        newest=at == len(series.runs) - 1,
    )
