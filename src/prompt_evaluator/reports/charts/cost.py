"""What quality costs: runs by price and score, and the frontier of the best ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from prompt_evaluator.model.chart import MOST_ROWS
from prompt_evaluator.model.wording import many, money
from prompt_evaluator.reports.charts.parts import (
    WIDTH,
    between,
    chart,
    distinct,
    layer,
    layers,
    linked,
    nothing,
    pointer,
    quantity,
    score,
    shown,
    spoken,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import Chart, ChartData, CostPoint
    from prompt_evaluator.reports.charts.parts import Row

_HEIGHT = 320
_LOGARITHMIC = 20
"""Times that the highest cost is the lowest one."""
_NEAR_X, _NEAR_Y = 0.25, 0.05
"""Shares of the axes within which two labels would lie on each other."""
_HOW = "Mean with its 95 % interval against the cost of a sample. Dashed: the best mean for the money."
_CROSS = "M-1,-1L1,1M1,-1L-1,1"


def draw(data: ChartData) -> Chart:
    if not data.costs:
        why = f" The cost of {many(data.left_out, 'run')} is not known." if data.left_out else ""
        return nothing(data, f"No run has both a cost and a score.{why}")
    points = sorted(data.costs[-MOST_ROWS:], key=lambda point: (point.cost, -point.mean))
    rows = _rows(points, data.scale)
    logarithmic = points[0].cost > 0 and points[-1].cost > _LOGARITHMIC * points[0].cost
    ends = _ends(points, logarithmic=logarithmic)
    x = {
        "scale": {"domain": ends, "nice": False, **({"type": "log"} if logarithmic else {"zero": False})},
        "axis": {
            "title": "US dollars per sample" + (" (logarithmic)" if logarithmic else ""),
            "format": "$~g",
            "tickCount": 5,
            "labelOverlap": "greedy",
        },
    }
    values = [value for point in points for value in (point.mean, point.low, point.high) if value is not None]
    room = (max(values) - min(values) or 1.0) * 0.1
    y = {
        "scale": {"domain": [min(values) - room, max(values) + room], "nice": False, "zero": False},
        "axis": {"title": f"mean {shown(data.metric or 'score', 40)}", "tickCount": 6},
    }
    details = tooltip(
        label="run", mean_text="mean", interval="95 % interval", cost_text="per sample", standing="standing"
    )
    good, dominated = [row for row in rows if not row["dominated"]], [row for row in rows if row["dominated"]]
    frontier = _frontier(rows, ends[1])
    specification = {
        "width": WIDTH,
        "height": _HEIGHT,
        "layer": layers(
            layer(
                frontier if len(frontier) > 1 else [],
                {"type": "line", "interpolate": "step-after", "style": "pe-frontier"},
                {"x": quantity("cost", **x), "y": quantity("mean", **y)},
            ),
            *(
                layer(
                    [row for row in some if row["low"] is not None],
                    {"type": "rule", "style": style},
                    {"x": quantity("cost", **x), "y": quantity("low", **y), "y2": {"field": "high"}},
                )
                for some, style in ((good, "pe-interval"), (dominated, "pe-hollow-rule"))
            ),
            layer(
                good,
                {"type": "point", "filled": True, "size": 80, "opacity": 1, "style": "pe-mean", **pointer(good)},
                {"x": quantity("cost", **x), "y": quantity("mean", **y), "tooltip": details},
            ),
            layer(
                dominated,
                {
                    "type": "point",
                    "shape": _CROSS,
                    "filled": False,
                    "size": 90,
                    "style": "pe-hollow",
                    **pointer(dominated),
                },
                {"x": quantity("cost", **x), "y": quantity("mean", **y), "tooltip": details},
            ),
            layer(
                _labelled(rows, ends, logarithmic=logarithmic),
                {"type": "text", "style": "pe-value", "dx": 9, "dy": -9, "limit": 190},
                {"x": quantity("cost", **x), "y": quantity("mean", **y), "text": {"field": "names"}},
            ),
        ),
    }
    unknown = f" {many(data.left_out, 'run')} without a known cost not shown." if data.left_out else ""
    cross = " Cross: another run is certainly better and costs no more." if dominated else ""
    return chart(
        data,
        specification,
        subtitle=f"{_HOW}{cross}{unknown}",
        alternative=f"Cost per sample and mean: {spoken([_sentence(row) for row in rows])}.{unknown}",
    )


def _ends(points: Sequence[CostPoint], *, logarithmic: bool) -> list[float]:
    low, high = points[0].cost, points[-1].cost
    if logarithmic:
        return [low / 1.5, high * 2.5]
    return [max(0.0, low - (high - low) * 0.1) if high > low else 0.0, high + (high - low or high or 1.0) * 0.25]


def _rows(points: Sequence[CostPoint], scale: tuple[float, float] | None) -> list[Row]:
    names = distinct(point.run for point in points)
    return [
        {
            "label": name,
            "cost": point.cost,
            "mean": point.mean,
            "low": point.low if point.high is not None else None,
            "high": point.high,
            "dominated": point.dominated,
            "mean_text": score(point.mean, scale),
            "interval": between(point.low, point.high, scale),
            "cost_text": money(point.cost),
            "standing": "another run is certainly better and costs no more" if point.dominated else "not beaten",
            **linked(point.link),
        }
        for point, name in zip(points, names, strict=True)
    ]


def _labelled(rows: Sequence[Row], ends: Sequence[float], *, logarithmic: bool) -> list[Row]:
    """Rows to be named: of several that are close together the first, which also says how many there are."""

    def along(cost: float) -> float:
        if logarithmic:
            return math.log(cost / ends[0]) / math.log(ends[1] / ends[0])
        return (cost - ends[0]) / (ends[1] - ends[0])

    height = max(row["mean"] for row in rows) - min(row["mean"] for row in rows) or 1.0
    kept: list[tuple[Row, int]] = []
    for row in rows:
        for at, (other, more) in enumerate(kept):
            near = abs(row["mean"] - other["mean"]) < _NEAR_Y * height
            if near and abs(along(row["cost"]) - along(other["cost"])) < _NEAR_X:
                kept[at] = (other, more + 1)
                break
        else:
            kept.append((row, 0))
    return [{**row, "names": row["label"] + (f" + {more}" if more else "")} for row, more in kept]


def _frontier(rows: Sequence[Row], end: float) -> list[Row]:
    """The best mean that each cost buys, by rising cost, drawn to the end of the axis."""
    best: list[Row] = []
    for row in rows:
        if not best or row["mean"] > best[-1]["mean"]:
            best.append({"cost": row["cost"], "mean": row["mean"]})
    return [*best, {"cost": end, "mean": best[-1]["mean"]}] if len(best) > 1 else best


def _sentence(row: Row) -> str:
    beaten = ", certainly beaten by a run that costs no more" if row["dominated"] else ""
    return f"{row['label']} {row['cost_text']}, {row['mean_text']} ({row['interval']}){beaten}"
