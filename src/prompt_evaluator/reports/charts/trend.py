"""A metric over the runs of a dataset: bands, change points, and what else changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.charts.parts import (
    WIDTH,
    between,
    chart,
    distinct,
    layer,
    layers,
    linked,
    names_axis,
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

    from prompt_evaluator.model.chart import Chart, ChartData, TrendRun
    from prompt_evaluator.reports.charts.parts import Row, Specification

_HEIGHT, _STEP, _WIDEST = 240, 26, 1_000
_FEWEST = 2
_VERDICTS = {"pass": "✓ pass", "fail": "✕ fail", "inconclusive": "? inconclusive"}
_APART = 3
"""Runs between two verdicts that are written out; of closer ones only the sign is shown."""
_ROOM_FOR_TEXT = 0.85
"""Share of the runs behind which a text does not fit on the right."""
_VERDICT_LINE = 26
"""Pixels from the top, below the texts of changes."""


def draw(data: ChartData) -> Chart:
    if len(data.trend) < _FEWEST:
        runs = many(len(data.trend), "comparable run")
        return nothing(
            data, f"There is only {runs} of this dataset; a trend needs two." if data.trend else f"There are {runs}."
        )
    rows = _rows(data.trend, data.scale)
    order = {"field": "at", "type": "ordinal", "sort": None}
    x = {**order, "axis": names_axis(labelAngle=-40, labelOverlap="greedy", labelLimit=140, grid=False)}
    values = [value for point in data.trend for value in (point.mean, point.low, point.high) if value is not None]
    low, high = min(values), max(values)
    room = (high - low or 1.0) * 0.12
    above = room * (3.0 if any(point.verdict for point in data.trend) else 1.0)
    ends = {"domain": [low - room * 1.8, high + above], "nice": False, "zero": False}
    y = {"scale": ends, "axis": {"title": f"mean {shown(data.metric or 'score')}", "tickCount": 6}}
    details = tooltip(at="run", text="mean", interval="95 % interval", changed="changed since the run before")
    judged = [row for row in rows if row.get("sign")]
    details += tooltip(verdict="gate") if judged else []
    changes = [
        {**row, **linked(point.change_link)} for row, point in zip(rows, data.trend, strict=True) if row["change"]
    ]
    specification = {
        "width": max(WIDTH, min(_WIDEST, _STEP * len(rows))),
        "height": _HEIGHT,
        # The first layer has all rows, and so decides on their order.
        "layer": layers(
            layer(
                rows, {"type": "line", "style": "pe-interval", "strokeWidth": 1.5}, {"x": x, "y": quantity("mean", **y)}
            ),
            layer(
                [row for row in rows if row["low"] is not None],
                {"type": "area", "style": "pe-range"},
                {"x": x, "y": quantity("low", **y), "y2": {"field": "high"}},
            ),
            *_levels(rows, x, y),
            layer(changes, {"type": "rule", "style": "pe-change", **pointer(changes)}, {"x": x}),
            layer(
                [row for row in rows if not row["outlier"]],
                {"type": "point", "filled": True, "size": 45, "opacity": 1, "style": "pe-mean", **pointer(rows)},
                {"x": x, "y": quantity("mean", **y), "tooltip": details},
            ),
            layer(
                [row for row in rows if row["outlier"]],
                {
                    "type": "point",
                    "filled": False,
                    "shape": "diamond",
                    "size": 90,
                    "style": "pe-hollow",
                    **pointer(rows),
                },
                {"x": x, "y": quantity("mean", **y), "tooltip": details},
            ),
            layer(
                [row for row in rows if row["changed"]],
                {
                    "type": "point",
                    "shape": "triangle-up",
                    "filled": True,
                    "size": 50,
                    "opacity": 1,
                    "style": "pe-event",
                    "yOffset": -6,
                },
                {"x": x, "y": {"value": "height"}, "tooltip": details},
            ),
            *_change_texts(changes, rows, x),
            layer(
                judged,
                {"type": "text", "style": "pe-value", "align": "center"},
                {"x": x, "y": {"value": _VERDICT_LINE}, "text": {"field": "sign"}, "tooltip": details},
            ),
            layer(
                [row for row in rows if row["what"]],
                {"type": "text", "style": "pe-note", "align": "left", "dx": 4, "dy": -18},
                {"x": x, "y": {"value": "height"}, "text": {"field": "what"}},
            ),
        ),
    }
    said = [_sentence(row) for row in changes]
    found = f" {many(len(said), 'change')} of level: {spoken(said)}." if said else " No change of level."
    outliers = sum(point.outlier for point in data.trend)
    off = f" Open diamond: far off, but not a change of level ({outliers})." if outliers else ""
    gate = " At the top: the gate's verdicts, ✓ pass, ✕ fail, ? inconclusive." if judged else ""
    how = "Mean of each run with the 95 % band of repeating it. Triangle: something changed since the run before."
    first, last = rows[0], rows[-1]
    ends_said = f"from {first['text']} ({first['run']}) to {last['text']} ({last['run']})"
    return chart(
        data,
        specification,
        subtitle=f"{how}{off}{gate}{'' if said else found}",
        alternative=f"{many(len(rows), 'run')} {ends_said}.{found}{off}{_judged(judged)}",
    )


def _change_texts(changes: Sequence[Row], rows: Sequence[Row], x: Specification) -> list[Specification]:
    """Beside their rules; those near the end are on the left, where there is room."""
    end = {row["at"] for row in rows[int(len(rows) * _ROOM_FOR_TEXT) :]}
    last = [row for row in changes if row["at"] in end]
    encoding = {"x": x, "y": {"value": 8}, "text": {"field": "change"}}
    return [
        layer(some, {"type": "text", "style": "pe-change-text", "align": align, "dx": dx, **pointer(some)}, encoding)
        for some, align, dx in (([row for row in changes if row not in last], "left", 5), (last, "right", -5))
    ]


def _levels(rows: Sequence[Row], x: Specification, y: Specification) -> list[Specification]:
    """A line for each level, from its first run to its last."""
    found: list[list[Row]] = []
    for row in rows:
        if row["level"] is None:
            continue
        if not found or row["change"]:
            found.append([])
        found[-1].append(row)
    return [layer(each, {"type": "line", "style": "pe-level"}, {"x": x, "y": quantity("level", **y)}) for each in found]


def _rows(points: Sequence[TrendRun], scale: tuple[float, float] | None) -> list[Row]:
    names = distinct(f"{point.started_at[5:10]} · {shown(point.run, 16)}" for point in points)
    rows: list[Row] = []
    level = None
    last_note = last_verdict = -10
    gated = any(point.verdict for point in points)
    for number, (point, at) in enumerate(zip(points, names, strict=True)):
        changed = ", ".join(shown(what, 30) for what in point.changed)
        what = ""
        if changed and number - last_note > 2:  # noqa: PLR2004 - texts would lie on each other
            what, last_note = shown(changed, 18), number
        change = ""
        if point.change_point and level is not None and point.level is not None:
            change = f"{score(level, scale)} → {score(point.level, scale)}"
        elif point.change_point:
            change = "change"
        sign = _VERDICTS.get(point.verdict or "", point.verdict or "")
        if number - last_verdict < _APART:
            sign = sign[:1]
        elif sign:
            last_verdict = number
        rows.append(
            {
                "at": at,
                "run": shown(point.run),
                "mean": point.mean,
                "low": point.low if point.high is not None else None,
                "high": point.high,
                "level": point.level,
                "text": score(point.mean, scale),
                "interval": between(point.low, point.high, scale),
                "changed": changed,
                "what": what,
                "change": change,
                "outlier": point.outlier,
                **({"verdict": point.verdict or "none", "sign": sign} if gated else {}),
                **linked(point.link),
            }
        )
        level = point.level
    return rows


def _judged(rows: Sequence[Row]) -> str:
    said = spoken([f"{row['verdict']} at {row['run']}" for row in rows])
    return f" Verdicts of the gate: {said}." if rows else ""


def _sentence(row: Row) -> str:
    since = f" ({row['changed']} changed)" if row["changed"] else ""
    return f"{row['change']} at {row['run']}{since}"
