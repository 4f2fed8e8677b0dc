"""How the scores of all samples are distributed: one small histogram for each metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import many, percent
from prompt_evaluator.reports.chart_theme import SHAPES
from prompt_evaluator.reports.charts.parts import (
    chart,
    labels,
    nominal,
    nothing,
    quantity,
    shown,
    spoken,
    tooltip,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import Chart, ChartData, ChartSize, ScoreBin
    from prompt_evaluator.reports.charts.parts import Row, Specification

_WIDTH, _HEIGHT, _COLUMNS, _MOST = 190, 100, 3, 24


def draw(data: ChartData, size: ChartSize) -> Chart:
    every = list(dict.fromkeys(one.metric for one in data.bins))
    metrics = every[:_MOST]
    totals = _totals(data.bins)
    if not totals:
        return nothing(data, "No sample has a score, so there is no distribution to show.")
    names, runs = labels(metrics, 34), labels(one.run for one in data.bins)
    columns = min(_COLUMNS, len(metrics))
    width = (size.width or (_WIDTH if columns > 1 else _WIDTH * 2) * columns) // columns
    small = {"width": width, "height": size.height or (_HEIGHT if columns > 1 else _HEIGHT * 2)}
    drawn = [
        {
            **small,
            **_histogram([one for one in data.bins if one.metric == metric], runs, totals),
            "title": _heading(names[metric]),
        }
        for metric in metrics
    ]
    more = f" {many(len(every) - _MOST, 'more metric')} not shown." if len(every) > _MOST else ""
    together = {
        "concat": drawn,
        "columns": columns,
        "spacing": 20,
        "resolve": {"scale": {"color": "shared", "shape": "shared"}},
    }
    said = [
        _sentence(data.bins, metric, run, several=len(runs) > 1)
        for metric in every
        for run in runs
        if totals.get((metric, run))
    ]
    return chart(
        data,
        together,
        subtitle=f"Share of samples by score.{more}",
        alternative=f"Most frequent scores: {spoken(said)}.{more}",
    )


def _heading(name: str) -> Specification:
    return {"text": name, "fontSize": 12, "offset": 4, "anchor": "start"}


def _totals(bins: Sequence[ScoreBin]) -> dict[tuple[str, str], int]:
    found: dict[tuple[str, str], int] = {}
    for one in bins:
        if one.count:
            found[one.metric, one.run] = found.get((one.metric, one.run), 0) + one.count
    return found


def _histogram(bins: Sequence[ScoreBin], runs: dict[str, str], totals: dict[tuple[str, str], int]) -> Specification:
    rows = [_row(one, runs[one.run], totals[one.metric, one.run]) for one in bins if totals.get((one.metric, one.run))]
    ends = [bins[0].low, max(one.high for one in bins)]
    ticks = {"title": None, "tickCount": 5, "grid": False, "format": "~g"}
    x = {"scale": {"domain": ends, "nice": False, "zero": False}, "axis": ticks}
    most = max(row["share"] for row in rows)
    y = quantity(
        "share", axis={"title": None, "format": "%", "tickCount": 3}, scale={"domain": [0, most * 1.08], "nice": False}
    )
    details = tooltip(scores="scores", run="run", samples="samples")
    if len(runs) == 1:
        mark = {"type": "bar", "style": "pe-bar", "binSpacing": 1}
        place = {"x": quantity("low", bin={"binned": True}, **x), "x2": {"field": "high"}, "y": y, "tooltip": details}
        return {"data": {"values": rows}, "mark": mark, "encoding": place}
    legend = {"orient": "top"}
    each = list(runs.values())
    look = {"color": nominal("run", title=None, scale={"domain": each, "range": "category"}, legend=legend)}
    shape = {"shape": nominal("run", title=None, scale={"domain": each, "range": [*SHAPES]}, legend=legend)}
    place = {"x": quantity("middle", **x), "y": y, **look}
    return {
        "data": {"values": rows},
        "layer": [
            {"mark": {"type": "line", "interpolate": "linear", "strokeWidth": 1.5}, "encoding": place},
            {
                "mark": {"type": "point", "filled": True, "size": 30, "opacity": 1},
                "encoding": {**place, **shape, "tooltip": details},
            },
        ],
    }


def _row(one: ScoreBin, run: str, total: int) -> Row:
    return {
        "run": run,
        "low": one.low,
        "high": one.high,
        "middle": (one.low + one.high) / 2,
        "share": one.count / total,
        "scores": _scores(one),
        "samples": f"{one.count:,} of {total:,}",
    }


def _sentence(bins: Sequence[ScoreBin], metric: str, run: str, *, several: bool) -> str:
    own = [one for one in bins if (one.metric, one.run) == (metric, run)]
    total = sum(one.count for one in own)
    most = max(own, key=lambda one: one.count)
    of = f" in {shown(run)}" if several else ""
    return f"{shown(metric)}{of} {_scores(most)} ({percent(most.count / total)} of {many(total, 'sample')})"


def _scores(one: ScoreBin) -> str:
    """`4` for a bin around a whole number, otherwise `0.3 to 0.4`."""
    middle = (one.low + one.high) / 2
    return f"{middle:g}" if one.high - one.low == 1 and middle.is_integer() else f"{one.low:.3g} to {one.high:.3g}"
