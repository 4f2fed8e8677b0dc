"""Means of metrics with their intervals: one row for each metric, one panel for each scale."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from prompt_evaluator.model.chart import MOST_ROWS
from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.charts.parts import (
    WIDTH,
    between,
    chart,
    labels,
    layer,
    layers,
    names_axis,
    nominal,
    nothing,
    panels,
    quantity,
    score,
    shown,
    spoken,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import Chart, ChartData, MetricBar
    from prompt_evaluator.reports.charts.parts import Row, Specification

_STEP = 26


def draw(data: ChartData) -> Chart:
    bars = data.metrics[:MOST_ROWS]
    if not bars:
        return nothing(data, "No metric has a score, so there are no means to show.")
    scales = [bar.scale for bar in bars]
    by_scale = sorted(bars, key=lambda bar: scales.index(bar.scale))
    drawn = [_panel(list(each), scale) for scale, each in groupby(by_scale, key=lambda bar: bar.scale)]
    left_out = len(data.metrics) - len(bars)
    more = f" {many(left_out, 'more metric')} not shown." if left_out else ""
    return chart(
        data,
        panels(drawn),
        subtitle=f"Mean over cases with its 95 % interval.{more}",
        alternative=f"Means with 95 % intervals: {spoken([_sentence(bar) for bar in bars])}.{more}",
    )


def _panel(bars: Sequence[MetricBar], scale: tuple[float, float]) -> Specification:
    """Rows with a dot and its interval on a common axis, the numbers beside them."""
    names = labels(bar.metric for bar in bars)
    rows = [_row(bar, names[bar.metric]) for bar in bars]
    axis = {"title": f"mean, on a scale from {scale[0]:g} to {scale[1]:g}", "tickCount": 5}
    x = {"scale": {"domain": list(scale), "nice": False, "zero": False}, "axis": axis}
    y = {"y": nominal("row", axis=names_axis())}
    details = tooltip(row="name", text="value", detail="measured on")
    return {
        "width": WIDTH,
        "height": {"step": _STEP},
        # The first layer has all rows, and so decides on their order.
        "layer": layers(
            layer(
                rows,
                {"type": "point", "filled": True, "opacity": 1, "size": 70, "clip": False, "style": "pe-mean"},
                {**y, "x": quantity("value", **x), "tooltip": details},
            ),
            layer(
                [row for row in rows if row["low"] is not None],
                {"type": "rule", "strokeWidth": 2, "style": "pe-interval"},
                {**y, "x": quantity("low", **x), "x2": {"field": "high"}},
            ),
            layer(
                rows,
                {"type": "text", "style": "pe-value", "dx": 12},
                {**y, "x": {"value": "width"}, "text": {"field": "text"}},
            ),
        ),
    }


def _row(bar: MetricBar, name: str) -> Row:
    mean = score(bar.mean, bar.scale)
    return {
        "row": name,
        "value": bar.mean,
        "low": bar.low,
        "high": bar.high,
        "text": mean if bar.low is None else f"{mean}  ({between(bar.low, bar.high, bar.scale)})",
        "detail": many(bar.cases, "case"),
    }


def _sentence(bar: MetricBar) -> str:
    interval = between(bar.low, bar.high, bar.scale)
    return f"{shown(bar.metric)} {score(bar.mean, bar.scale)} ({interval}, {many(bar.cases, 'case')})"
