"""Paired differences between two runs, with the band of differences that do not matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.chart import MOST_ROWS
from prompt_evaluator.model.wording import many, percent, points, short_number, signed
from prompt_evaluator.reports.charts.parts import (
    WIDTH,
    chart,
    labels,
    layer,
    layers,
    names_axis,
    nominal,
    nothing,
    panels,
    quantity,
    shown,
    spoken,
    tooltip,
)
from prompt_evaluator.reports.comparison_verdicts import WORDS
from prompt_evaluator.reports.levels import digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import Chart, ChartData, DifferenceBar
    from prompt_evaluator.reports.charts.parts import Row, Specification

_STEP = 26
_VERDICTS = (WORDS["better"], WORDS["worse"], WORDS["no_difference"], WORDS["inconclusive"])
_SHAPES = ("triangle-up", "triangle-down", "circle", "diamond")


class _Panel(NamedTuple):
    kind: str
    span: float


def draw(data: ChartData) -> Chart:
    if not data.differences:
        return nothing(data, "No metric or flag was measured in both runs, so there are no differences to show.")
    bars = data.differences[:MOST_ROWS]
    by_panel: dict[_Panel, list[DifferenceBar]] = {}
    for bar in sorted(bars, key=lambda bar: bar.kind == "flag"):
        by_panel.setdefault(_Panel(bar.kind, bar.span), []).append(bar)
    more = f" {many(len(data.differences) - MOST_ROWS, 'more')} not shown." if len(data.differences) > MOST_ROWS else ""
    baseline, candidate = map(shown, data.runs)
    direction = f"{candidate} minus {baseline}"
    return chart(
        data,
        panels([_panel(each, panel) for panel, each in by_panel.items()]),
        subtitle=f"{direction}, with 95 % intervals. Grey: too small to matter.{more}",
        alternative=f"{direction}: {spoken([_sentence(bar) for bar in bars])}.{more}",
    )


def _panel(bars: Sequence[DifferenceBar], panel: _Panel) -> Specification:
    names = labels(bar.name for bar in bars)
    rows = [_row(bar, names[bar.name]) for bar in bars]
    ends = (abs(end) for bar in bars for end in (bar.difference, bar.low or 0.0, bar.high or 0.0, bar.threshold * 1.5))
    most = min(panel.span, max(ends) * 1.05)
    if panel.kind == "flag":
        axis = {"title": "flags: difference of shares (raised more often is worse)", "format": "+%", "tickCount": 7}
    else:
        axis = {
            "title": f"metrics: difference of means, on a scale of width {panel.span:g}",
            "format": "+~g",
            "tickCount": 7,
        }
    x = {"scale": {"domain": [-most, most], "nice": False}, "axis": axis}
    y = {"y": nominal("name", axis=names_axis())}
    colour = nominal(
        "verdict", title=None, scale={"domain": [*_VERDICTS], "range": "ordinal"}, legend={"orient": "top"}
    )
    shape = nominal("verdict", title=None, scale={"domain": [*_VERDICTS], "range": [*_SHAPES]})
    details = tooltip(name="name", text="difference", interval="95 % interval", threshold="matters from")
    return {
        "width": WIDTH,
        "height": {"step": _STEP},
        "layer": layers(
            layer(
                rows,
                {"type": "bar", "style": "pe-ignored", "height": {"band": 1}, "clip": True},
                {**y, "x": quantity("from", **x), "x2": {"field": "to"}},
            ),
            layer([{"zero": 0}], {"type": "rule", "style": "pe-reference"}, {"x": quantity("zero", **x)}),
            layer(
                [row for row in rows if row["low"] is not None],
                {"type": "rule", "strokeWidth": 2, "clip": True},
                {**y, "x": quantity("low", **x), "x2": {"field": "high"}, "color": colour},
            ),
            layer(
                rows,
                {"type": "point", "filled": True, "size": 90, "opacity": 1},
                {**y, "x": quantity("difference", **x), "color": colour, "shape": shape, "tooltip": details},
            ),
            layer(
                rows,
                {"type": "text", "style": "pe-value", "dx": 12},
                {**y, "x": {"value": "width"}, "text": {"field": "text"}},
            ),
        ),
    }


def _row(bar: DifferenceBar, name: str) -> Row:
    has_interval = bar.low is not None and bar.high is not None
    return {
        "name": name,
        "difference": bar.difference,
        "low": bar.low if has_interval else None,
        "high": bar.high if has_interval else None,
        "from": -bar.threshold,
        "to": bar.threshold,
        "verdict": _word(bar),
        "text": f"{_amount(bar, bar.difference)}  {_word(bar)}",
        "interval": _interval(bar),
        "threshold": percent(bar.threshold) if bar.kind == "flag" else short_number(bar.threshold),
    }


def _word(bar: DifferenceBar) -> str:
    return next((word for verdict, word in WORDS.items() if verdict == bar.verdict), bar.verdict)


def _amount(bar: DifferenceBar, value: float) -> str:
    return points(value) if bar.kind == "flag" else signed(value, digits((0.0, bar.span)))


def _interval(bar: DifferenceBar) -> str:
    return (
        "no interval" if bar.low is None or bar.high is None else f"{_amount(bar, bar.low)} to {_amount(bar, bar.high)}"
    )


def _sentence(bar: DifferenceBar) -> str:
    return f"{shown(bar.name)} {_amount(bar, bar.difference)} ({_interval(bar)}): {_word(bar)}"
