"""The charts of reports."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_evaluator.app.chart_data import (
    differences_data,
    distribution_data,
    metrics_data,
    scatter_data,
    stats_of,
    trend_data,
)
from prompt_evaluator.app.cost_charts import cost_data
from prompt_evaluator.app.run_queries import interrupted_runs
from prompt_evaluator.app.trends import read_trends
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.query import RunQuery
from prompt_evaluator.model.trend import TrendQuery
from prompt_evaluator.reports.chart_files import can_draw
from prompt_evaluator.reports.charts import make_chart

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.chart import Chart, ChartData
    from prompt_evaluator.model.comparison import Comparison
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.store import Store

_FINISHED = ("completed", "partial")
_HISTORY = 20
"""Runs."""
_SHORTEST_HISTORY = 3
"""Fewer runs make no trend."""
_MOST_SCATTERS = 6
"""In one report: each has up to 2,000 points."""


def run_charts(settings: Settings, store: Store, run_id: str) -> tuple[Chart, ...]:
    """The charts of a report on one run that have numbers; none without the extra.

    Of a finished run, they show its first metric over the runs of its dataset and against cost, too.
    """
    if not can_draw():
        return ()
    line = store.run_line(run_id, interrupted=interrupted_runs(store))
    return _drawn([metrics_data(line), distribution_data(store, line), *_history(settings, store, line)])


def comparison_charts(comparison: Comparison) -> tuple[Chart, ...]:
    """The charts of a report on two runs: all differences, and the cases on each metric; of many, those that moved."""
    if not can_draw():
        return ()
    measured = [name for name, each in comparison.metrics.items() if each.missing is None]
    if len(measured) > _MOST_SCATTERS:
        measured.sort(key=lambda name: comparison.metrics[name].verdict not in ("worse", "better"))
    scatters = (scatter_data(comparison, name) for name in measured[:_MOST_SCATTERS])
    return _drawn([differences_data(comparison), *scatters])


def _drawn(data: Iterable[ChartData]) -> tuple[Chart, ...]:
    return tuple(chart for chart in map(make_chart, data) if chart.specification)


def _history(settings: Settings, store: Store, line: RunLine) -> Iterator[ChartData]:
    """What there is to show of the runs of its dataset."""
    metric = next(iter(stats_of(line)), None)
    if line.kind != "evaluation" or line.status not in _FINISHED or metric is None:
        return
    lines = _comparable(store, line)
    if len(lines) >= _SHORTEST_HISTORY:
        with suppress(ConfigurationError):  # the other runs have other metrics, or other cases
            yield from _trend(settings, line, metric)
    costs = cost_data(lines, metric)
    if len(costs.costs) > 1 and any(point.cost for point in costs.costs):
        yield costs


def _trend(settings: Settings, line: RunLine, metric: str) -> Iterator[ChartData]:
    judge = Condition("judge_hash", "=", line.judge_hash or "null")
    query = TrendQuery(dataset=line.dataset_hash, where=(judge,), metric=metric, limit=_HISTORY)
    trends = read_trends(settings, query)
    if trends and trends.metrics:
        yield trend_data(trends.metrics[0])


def _comparable(store: Store, line: RunLine) -> list[RunLine]:
    """The run, and the newest others with the same version of the dataset and the same judge."""
    same = (
        Condition("dataset_hash", "=", line.dataset_hash or "null"),
        Condition("judge_hash", "=", line.judge_hash or "null"),
    )
    others = store.query_runs(RunQuery(where=same, limit=_HISTORY), interrupted=interrupted_runs(store)).items
    return [line, *(other for other in others if other.run_id != line.run_id and other.summary)]
