"""Each case's score in one run against its score in another, with the diagonal on which nothing changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import listed, many
from prompt_evaluator.reports.charts.parts import (
    chart,
    layer,
    layers,
    nominal,
    nothing,
    quantity,
    score,
    shown,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import CasePoint, Chart, ChartData
    from prompt_evaluator.reports.charts.parts import Row

_SIZE = 380
_HOW = "Above the dashed line: higher in the candidate. A larger mark: several cases."
_WORDS = {"better": "better", "worse": "worse", "same": "no difference seen", "too_few": "too few samples to tell"}
_SHAPES = ("triangle-up", "triangle-down", "circle", "diamond")
_NAMED = 5
"""Cases named where several have the same scores."""


def draw(data: ChartData) -> Chart:
    if not data.points or data.scale is None:
        return nothing(data, "No case was measured in both runs, so there is nothing to compare case by case.")
    points, left_out, scale = data.points, data.left_out, data.scale
    rows = _rows(points, scale)
    room = (scale[1] - scale[0]) * 0.04
    ends = {"domain": [scale[0] - room, scale[1] + room], "nice": False, "zero": False}
    names = [shown(run, 40) for run in data.runs]
    of = f" of {shown(data.metric)}" if data.metric else ""
    words = list(_WORDS.values())
    legend = {"orient": "top", "title": None, "columns": 2}
    specification = {
        "width": _SIZE,
        "height": _SIZE,
        "layer": layers(
            layer(
                [{"x": scale[0], "y": scale[0]}, {"x": scale[1], "y": scale[1]}],
                {"type": "line", "style": "pe-reference"},
                {"x": quantity("x", scale=ends), "y": quantity("y", scale=ends)},
            ),
            layer(
                rows,
                {"type": "point", "filled": True, "opacity": 0.75},
                {
                    "x": quantity("x", scale=ends, axis={"title": f"{names[0]} (baseline)", "tickCount": 5}),
                    "y": quantity("y", scale=ends, axis={"title": f"{names[1]} (candidate)", "tickCount": 5}),
                    "color": nominal("class", scale={"domain": words, "range": "ordinal"}, legend=legend),
                    "shape": nominal("class", scale={"domain": words, "range": [*_SHAPES]}, legend=legend),
                    "size": quantity(
                        "cases",
                        scale={
                            "type": "sqrt",
                            "domain": [1, max(10, *(row["cases"] for row in rows))],
                            "range": [60, 420],
                        },
                        legend=None,
                    ),
                    "tooltip": tooltip(named="cases", x="baseline", y="candidate", **{"class": "class"}),
                },
            ),
        ),
    }
    counts = _counts(points)
    shown_of = (
        f" {len(points):,} cases, chosen evenly; {left_out:,} not shown."
        if left_out
        else f" {many(len(points), 'case')}."
    )
    return chart(
        data,
        specification,
        subtitle=f"Mean score{of} of each case in both runs. {_HOW}{shown_of}",
        alternative=f"Scores{of} per case, {names[0]} against {names[1]}: {counts}.{shown_of}",
    )


def _rows(points: Sequence[CasePoint], scale: tuple[float, float]) -> list[Row]:
    """One row for all cases with the same scores and class; classes of which there are few lie on top."""
    together: dict[tuple[float, float, str], list[str]] = {}
    for point in points:
        key = (round(point.baseline, 9), round(point.candidate, 9), _WORDS.get(point.class_, _WORDS["too_few"]))
        together.setdefault(key, []).append(point.test_case_id)
    rows = [
        {
            "x": before,
            "y": after,
            "class": word,
            "cases": len(ids),
            "named": _names(ids),
            "scores": f"{score(before, scale)} → {score(after, scale)}",
        }
        for (before, after, word), ids in together.items()
    ]
    return sorted(rows, key=lambda row: (row["class"] in (_WORDS["better"], _WORDS["worse"]), -len(row["named"])))


def _names(ids: Sequence[str]) -> str:
    few = [shown(case_id, 40) for case_id in ids[:_NAMED]]
    return listed(few) if len(ids) <= _NAMED else f"{', '.join(few)} and {len(ids) - _NAMED:,} more"


def _counts(points: Sequence[CasePoint]) -> str:
    found = dict.fromkeys(_WORDS, 0)
    for point in points:
        found[point.class_ if point.class_ in found else "too_few"] += 1
    return ", ".join(f"{many(count, 'case')} {_WORDS[name]}" for name, count in found.items() if count)
