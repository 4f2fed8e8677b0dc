"""Means of metrics with their intervals: one row for each metric, one panel for each scale."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from prompt_evaluator.model.chart import MOST_ROWS
from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.charts.dots import Dot, dot_panel, panels
from prompt_evaluator.reports.charts.parts import between, chart, labels, nothing, score, shown, spoken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import Chart, ChartData, ChartSize, MetricBar
    from prompt_evaluator.reports.charts.parts import Specification


def draw(data: ChartData, size: ChartSize) -> Chart:
    names = list(dict.fromkeys(bar.metric for bar in data.metrics))
    kept = set(names[:MOST_ROWS])
    bars = [bar for bar in data.metrics if bar.metric in kept]
    if not bars:
        return nothing(data, "No metric has a score, so there are no means to show.")
    by_scale = sorted(bars, key=lambda bar: names.index(_first_of(bars, bar.scale)))
    drawn = [_panel(list(each), scale, size) for scale, each in groupby(by_scale, key=lambda bar: bar.scale)]
    more = f" {many(len(names) - MOST_ROWS, 'more metric')} not shown." if len(names) > MOST_ROWS else ""
    several = len({bar.run for bar in bars}) > 1
    said = [_sentence(bar, several=several) for bar in bars]
    return chart(
        data,
        panels(drawn),
        subtitle=f"Mean over cases with its 95 % interval.{more}",
        alternative=f"Means with 95 % intervals: {spoken(said)}.{more}",
    )


def _first_of(bars: Sequence[MetricBar], scale: tuple[float, float]) -> str:
    return next(bar.metric for bar in bars if bar.scale == scale)


def _panel(bars: Sequence[MetricBar], scale: tuple[float, float], size: ChartSize) -> Specification:
    rows, runs = labels(bar.metric for bar in bars), labels(bar.run for bar in bars)
    dots = [
        Dot(
            row=rows[bar.metric],
            run=runs[bar.run],
            value=bar.mean,
            low=bar.low,
            high=bar.high,
            text=_text(bar),
            detail=many(bar.cases, "case"),
        )
        for bar in bars
    ]
    axis = {"title": f"mean, on a scale from {scale[0]:g} to {scale[1]:g}", "tickCount": 5}
    return dot_panel(dots, {"scale": {"domain": list(scale), "nice": False, "zero": False}, "axis": axis}, size)


def _text(bar: MetricBar) -> str:
    mean = score(bar.mean, bar.scale)
    return mean if bar.low is None else f"{mean}  ({between(bar.low, bar.high, bar.scale)})"


def _sentence(bar: MetricBar, *, several: bool) -> str:
    of = f" in {shown(bar.run)}" if several else ""
    interval = between(bar.low, bar.high, bar.scale)
    return f"{shown(bar.metric)}{of} {score(bar.mean, bar.scale)} ({interval}, {many(bar.cases, 'case')})"
