"""Collects the numbers of charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from prompt_evaluator.model.chart import (
    MOST_POINTS,
    CasePoint,
    ChartData,
    DifferenceBar,
    MetricBar,
    ScoreBin,
    TrendRun,
)
from prompt_evaluator.model.run_facts import SHORT_ID
from prompt_evaluator.stats.distributions import normal_quantile
from prompt_evaluator.store.chart_query import BinEdges

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model.comparison import Comparison, PairedResult, RunFacts
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.model.result import OverallMetric
    from prompt_evaluator.model.trend import MetricTrend
    from prompt_evaluator.store import Store

Scale = tuple[float, float]
_BINS = 10
_MOST_WHOLE = 10
"""Scales between whole numbers up to this width get one bin for each whole number, as rubrics have them."""


def metrics_data(line: RunLine) -> ChartData:
    """The mean of each metric of a run."""
    bars = [
        MetricBar(
            metric=metric,
            mean=stats.mean_of_means,
            low=stats.interval[0] if stats.interval else None,
            high=stats.interval[1] if stats.interval else None,
            scale=stats.scale,
            cases=stats.num_cases,
        )
        for metric, stats in stats_of(line).items()
    ]
    return ChartData(kind="metrics", title=f"Metrics: run {line.run_id[:SHORT_ID]}", metrics=tuple(bars))


def distribution_data(store: Store, line: RunLine) -> ChartData:
    """How many samples of a run have which score."""
    edges = {metric: _edges(stats.scale) for metric, stats in stats_of(line).items()}
    counts = store.score_bins(line.run_id, edges)
    bins = [
        ScoreBin(
            metric=metric,
            low=each.start + each.width * at,
            high=each.start + each.width * (at + 1),
            count=counts.get((metric, at), 0),
        )
        for metric, each in edges.items()
        for at in range(each.bins)
    ]
    return ChartData(
        kind="distribution", title=f"Distribution of scores: run {line.run_id[:SHORT_ID]}", bins=tuple(bins)
    )


def differences_data(comparison: Comparison) -> ChartData:
    """The differences between two runs."""
    names = _names(comparison)
    return ChartData(kind="differences", title=_title(names), differences=tuple(_differences(comparison)), runs=names)


def scatter_data(comparison: Comparison, metric: str) -> ChartData:
    """The cases of two runs on one metric."""
    names = _names(comparison)
    found = comparison.metrics[metric]
    count = sum(found.case_classes.values())
    step = max(1, -(-count // MOST_POINTS))
    points = tuple(
        CasePoint(test_case_id=each.test_case_id, baseline=each.baseline, candidate=each.candidate, class_=each.class_)
        for at, each in enumerate(each for each in comparison.cases if each.metric == metric)
        if at % step == 0
    )
    return ChartData(
        kind="scatter",
        title=f"{metric} case by case: {_title(names)}",
        points=points,
        metric=metric,
        scale=found.scale,
        runs=names,
        left_out=count - len(points),
    )


def trend_data(trend: MetricTrend) -> ChartData:
    """A metric over time."""
    starts = {change.run_id: change for change in trend.changes}
    level = trend.changes[0].before if trend.changes else None
    runs = []
    for point in trend.points:
        change = starts.get(point.run_id)
        level = change.after if change else level
        half = None if point.error is None else normal_quantile(0.975) * point.error
        runs.append(
            TrendRun(
                run=point.run_id[:SHORT_ID],
                started_at=point.started_at,
                mean=point.mean,
                low=None if half is None else point.mean - half,
                high=None if half is None else point.mean + half,
                changed=tuple(difference.what for difference in point.differences),
                change_point=change is not None,
                outlier=point.blip,
                level=level,
            )
        )
    title = f"{trend.name} over time"
    return ChartData(kind="trend", title=title, trend=tuple(runs), metric=trend.name, scale=trend.scale)


def stats_of(line: RunLine) -> dict[str, OverallMetric]:
    """The metrics of a run."""
    return line.summary.overall_metric_stats if line.summary else {}


def _edges(scale: Scale) -> BinEdges:
    low, high = scale
    width = high - low
    if low.is_integer() and high.is_integer() and 1 < width <= _MOST_WHOLE:
        return BinEdges(low - 0.5, 1.0, round(width) + 1)
    return BinEdges(low, (width or 1.0) / _BINS, _BINS)


def _differences(comparison: Comparison) -> Iterable[DifferenceBar]:
    for name, metric in comparison.metrics.items():
        if metric.difference is not None:
            yield _bar(name, "metric", metric, metric.difference, metric.scale[1] - metric.scale[0])
    for name, flag in comparison.flags.items():
        if flag.difference is not None:
            yield _bar(name, "flag", flag, flag.difference, 1.0)


def _bar(
    name: str, kind: Literal["metric", "flag"], found: PairedResult, difference: float, span: float
) -> DifferenceBar:
    return DifferenceBar(
        name=name,
        kind=kind,
        difference=difference,
        low=found.low,
        high=found.high,
        threshold=found.threshold,
        span=span,
        verdict=found.verdict,
    )


def _names(comparison: Comparison) -> tuple[str, str]:
    return _called(comparison.baseline), _called(comparison.candidate)


def _called(facts: RunFacts) -> str:
    return f"{facts.name} {facts.prompt_version}" if facts.prompt_version else facts.name


def _title(names: tuple[str, str]) -> str:
    return f"{names[1]} compared with {names[0]}"
