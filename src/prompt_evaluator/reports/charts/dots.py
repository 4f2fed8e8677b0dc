"""Rows with a dot and its interval on a common axis, the numbers beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.reports.chart_theme import SHAPES
from prompt_evaluator.reports.charts.parts import WIDTH, layer, layers, names_axis, nominal, quantity, tooltip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import ChartSize
    from prompt_evaluator.reports.charts.parts import Specification

_STEP, _RUN_STEP = 26, 17


class Dot(NamedTuple):
    """One number, ready to be shown."""

    row: str
    run: str
    value: float
    low: float | None
    high: float | None
    text: str
    detail: str
    """Such as `60 cases`."""


def dot_panel(dots: Sequence[Dot], x: Specification, size: ChartSize) -> Specification:
    """One row for each name; several runs are apart within their row, in colours and shapes of their own."""
    runs = list(dict.fromkeys(dot.run for dot in dots))
    rows = [dot._asdict() for dot in dots]
    several = len(runs) > 1
    y = {"y": nominal("row", axis=names_axis())}
    look = {}
    if several:
        y["yOffset"] = nominal("run", scale={"paddingOuter": 0.3})
        look = {
            "color": nominal("run", title=None, scale={"domain": runs, "range": "category"}, legend={"orient": "top"}),
            "shape": nominal("run", title=None, scale={"domain": runs, "range": [*SHAPES]}, legend={"orient": "top"}),
        }
    style = {} if several else {"style": "pe-mean"}
    details = tooltip(row="name", run="run", text="value", detail="measured on")
    step = _RUN_STEP * len(runs) + 10 if several else _STEP
    colour = {"color": look["color"]} if several else {}
    return {
        "width": size.width or WIDTH,
        "height": size.height or {"step": step, "for": "position"},
        # The first layer has all rows, and so decides on their order.
        "layer": layers(
            layer(
                rows,
                {"type": "point", "filled": True, "opacity": 1, "size": 70, "clip": False, **style},
                {**y, "x": quantity("value", **x), **look, "tooltip": details},
            ),
            layer(
                [row for row in rows if row["low"] is not None],
                {"type": "rule", "strokeWidth": 2, **({} if several else {"style": "pe-interval"})},
                {**y, "x": quantity("low", **x), "x2": {"field": "high"}, **colour},
            ),
            layer(
                rows,
                {"type": "text", "style": "pe-value", "dx": 12},
                {**y, "x": {"value": "width"}, "text": {"field": "text"}},
            ),
        ),
    }


def panels(each: Sequence[Specification]) -> Specification:
    """One specification out of one or several, below each other."""
    if len(each) == 1:
        return each[0]
    return {"vconcat": list(each), "spacing": 24, "resolve": {"scale": {"color": "shared", "shape": "shared"}}}
