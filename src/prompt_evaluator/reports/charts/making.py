"""Picks the module that draws a kind of chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.reports.charts import cost, differences, distribution, metrics, scatter, trend

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.chart import Chart, ChartData, ChartKind

_KINDS: dict[ChartKind, Callable[[ChartData], Chart]] = {
    "metrics": metrics.draw,
    "distribution": distribution.draw,
    "differences": differences.draw,
    "scatter": scatter.draw,
    "trend": trend.draw,
    "cost": cost.draw,
}


def make_chart(data: ChartData) -> Chart:
    """The specification of a chart and its text alternative; see `Chart.specification` for data without numbers."""
    return _KINDS[data.kind](data)
