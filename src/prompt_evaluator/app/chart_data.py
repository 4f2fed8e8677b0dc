"""Collects the numbers of charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.slices import slice_cells
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.chart import (
    MOST_POINTS,
    MOST_ROWS,
    CaseCell,
    CasePoint,
    ChartData,
    DifferenceBar,
    FlagBar,
    MetricBar,
    ScoreBin,
    TrendRun,
)
from prompt_evaluator.model.run_facts import SHORT_ID
from prompt_evaluator.stats.distributions import normal_quantile
from prompt_evaluator.store.chart_query import BinEdges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from prompt_evaluator.model.chart import CompareChartKind, RunChartKind
    from prompt_evaluator.model.comparison import Comparison, PairedResult, RunFacts
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.model.result import OverallMetric
    from prompt_evaluator.model.trend import MetricTrend
    from prompt_evaluator.store import Store

Scale = tuple[float, float]
_BINS = 10
_MOST_WHOLE = 10
"""Scales between whole numbers up to this width get one bin for each whole number, as rubrics have them."""


def run_chart_data(store: Store, run_ids: Sequence[str], kind: RunChartKind, metrics: Sequence[str] = ()) -> ChartData:
    """The numbers of a chart about one run, or several where the kind allows it; `metrics` limits it to these.

    Raises:
        UnknownNameError: No run has a metric that was asked for.
    """
    lines = [store.run_line(run_id) for run_id in run_ids]
    names = run_names(lines)
    titles = {
        "metrics": "Metrics",
        "stability": "Stability",
        "distribution": "Distribution of scores",
        "flags": "Flags",
        "slices": "Slices",
    }
    of = f"run {names[0]}" if len(lines) == 1 else f"{len(lines)} runs"
    base = ChartData(kind=kind, title=f"{titles[kind]}: {of}", runs=tuple(names))
    if kind != "flags":
        check_metrics(lines, metrics)
    collect: dict[RunChartKind, Callable[[Store, Sequence[RunLine], ChartData, Sequence[str]], ChartData]] = {
        "metrics": _metrics,
        "stability": _stability,
        "distribution": _distribution,
        "flags": _flags,
        "slices": _slices,
    }
    return collect[kind](store, lines, base, metrics)


def run_names(lines: Sequence[RunLine]) -> list[str]:
    """Short names of runs: the beginning of the id, and the prompt version or model where these differ."""
    names = [line.run_id[:SHORT_ID] for line in lines]
    for field in ("prompt_version", "generator_model"):
        values = [getattr(line, field) for line in lines]
        if len(set(values)) > 1:
            return [f"{name} {value}" if value else name for name, value in zip(names, values, strict=True)]
    return names


def comparison_chart_data(comparison: Comparison, kind: CompareChartKind, metric: str | None = None) -> ChartData:
    """The numbers of a chart about two runs; without a metric, cases are about the first one.

    Raises:
        UnknownNameError: The metric was not compared.
    """
    names = (_called(comparison.baseline), _called(comparison.candidate))
    title = f"{names[1]} compared with {names[0]}"
    if kind == "differences":
        return ChartData(kind=kind, title=title, differences=tuple(_differences(comparison)), runs=names)
    measured = [name for name, each in comparison.metrics.items() if each.missing is None]
    if metric is not None and metric not in measured:
        raise UnknownNameError("metric in both runs", metric, measured)
    chosen = metric or (measured[0] if measured else None)
    empty = ChartData(kind=kind, title=title, metric=chosen, runs=names)
    if chosen is None:
        return empty
    count = sum(comparison.metrics[chosen].case_classes.values())
    step = max(1, -(-count // MOST_POINTS))
    points = tuple(
        CasePoint(
            test_case_id=each.test_case_id,
            metric=each.metric,
            baseline=each.baseline,
            candidate=each.candidate,
            class_=each.class_,
        )
        for at, each in enumerate(each for each in comparison.cases if each.metric == chosen)
        if at % step == 0
    )
    return ChartData(
        kind=kind,
        title=f"{chosen} case by case: {title}",
        points=points,
        metric=chosen,
        scale=comparison.metrics[chosen].scale,
        runs=names,
        left_out=count - len(points),
    )


def trend_chart_data(trend: MetricTrend) -> ChartData:
    """The numbers of a chart about a metric over time."""
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


def _metrics(_: Store, lines: Sequence[RunLine], base: ChartData, metrics: Sequence[str]) -> ChartData:
    bars = [
        MetricBar(
            metric=metric,
            run=name,
            mean=stats.mean_of_means,
            low=stats.interval[0] if stats.interval else None,
            high=stats.interval[1] if stats.interval else None,
            scale=stats.scale,
            cases=stats.num_cases,
        )
        for metric in _asked(lines, metrics)
        for line, name in zip(lines, base.runs, strict=True)
        if (stats := stats_of(line).get(metric))
    ]
    return _with(base, metrics=tuple(bars))


def _flags(_: Store, lines: Sequence[RunLine], base: ChartData, __: Sequence[str]) -> ChartData:
    bars = [
        FlagBar(
            flag=flag,
            run=name,
            share=stats.true_proportion,
            low=stats.interval[0] if stats.interval else None,
            high=stats.interval[1] if stats.interval else None,
            raised=stats.true_count,
            asked=stats.total_count,
        )
        for line, name in zip(lines, base.runs, strict=True)
        for flag, stats in (line.summary.overall_flag_stats if line.summary else {}).items()
        if stats.true_proportion is not None
    ]
    return _with(base, flags=tuple(bars))


def _stability(store: Store, lines: Sequence[RunLine], base: ChartData, metrics: Sequence[str]) -> ChartData:
    stats = stats_of(lines[0])
    scales = {metric: stats[metric].scale for metric in _asked(lines, metrics) if metric in stats}
    spans = {metric: (scale[1] - scale[0]) or 1.0 for metric, scale in scales.items()}
    found = store.varying_cells(lines[0].run_id, spans, MOST_ROWS)
    cells = tuple(
        CaseCell(
            test_case_id=cell.case_id,
            metric=cell.metric,
            mean=cell.mean,
            std=cell.std,
            scale=scales[cell.metric],
            variability=cell.variability,
            count=cell.samples,
        )
        for cell in found.cells
    )
    return _with(base, cells=cells, left_out=found.cases - len({cell.test_case_id for cell in cells}))


def _distribution(store: Store, lines: Sequence[RunLine], base: ChartData, metrics: Sequence[str]) -> ChartData:
    edges: dict[str, BinEdges] = {}
    for line in lines:
        for metric, stats in stats_of(line).items():
            edges.setdefault(metric, _edges(stats.scale))
    names = _asked(lines, metrics)
    counts = [store.score_bins(line.run_id, {metric: edges[metric] for metric in names}) for line in lines]
    bins = [
        ScoreBin(
            metric=metric,
            run=name,
            low=edges[metric].start + edges[metric].width * at,
            high=edges[metric].start + edges[metric].width * (at + 1),
            count=found.get((metric, at), 0),
        )
        for metric in names
        for name, found in zip(base.runs, counts, strict=True)
        for at in range(edges[metric].bins)
    ]
    return _with(base, bins=tuple(bins))


def _edges(scale: Scale) -> BinEdges:
    low, high = scale
    width = high - low
    if low.is_integer() and high.is_integer() and 1 < width <= _MOST_WHOLE:
        return BinEdges(low - 0.5, 1.0, round(width) + 1)
    return BinEdges(low, (width or 1.0) / _BINS, _BINS)


def _slices(store: Store, lines: Sequence[RunLine], base: ChartData, metrics: Sequence[str]) -> ChartData:
    cells = slice_cells(store, lines[0].run_id)
    return _with(base, slices=tuple(cell for cell in cells if not metrics or cell.metric in metrics))


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


def _called(facts: RunFacts) -> str:
    return f"{facts.name} {facts.prompt_version}" if facts.prompt_version else facts.name


def stats_of(line: RunLine) -> dict[str, OverallMetric]:
    """The metrics of a run."""
    return line.summary.overall_metric_stats if line.summary else {}


def _asked(lines: Sequence[RunLine], metrics: Sequence[str]) -> list[str]:
    """The metrics of all runs in their order, or those of them that were asked for."""
    every = dict.fromkeys(name for line in lines for name in stats_of(line))
    return [name for name in every if not metrics or name in metrics]


def check_metrics(lines: Sequence[RunLine], metrics: Sequence[str]) -> None:
    """Refuse a metric that no run has."""
    known = {name for line in lines for name in stats_of(line)}
    for metric in metrics:
        if metric not in known:
            raise UnknownNameError("metric", metric, known)


def _with(base: ChartData, **fields: object) -> ChartData:
    return msgspec.structs.replace(base, **fields)
