"""Picks the module that draws a kind of chart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.chart import ChartSize
from prompt_evaluator.reports.charts import (
    cost,
    differences,
    distribution,
    flags,
    metrics,
    scatter,
    slices,
    stability,
    trend,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.chart import Chart, ChartData, ChartKind

_KINDS: dict[ChartKind, Callable[[ChartData, ChartSize], Chart]] = {
    "metrics": metrics.draw,
    "stability": stability.draw,
    "distribution": distribution.draw,
    "flags": flags.draw,
    "slices": slices.draw,
    "differences": differences.draw,
    "scatter": scatter.draw,
    "trend": trend.draw,
    "cost": cost.draw,
}
_OWN_SIZE = ChartSize()


def make_chart(data: ChartData, size: ChartSize = _OWN_SIZE) -> Chart:
    """The specification of a chart and its text alternative; see `Chart.specification` for data without numbers."""
    return _KINDS[data.kind](data, size)
