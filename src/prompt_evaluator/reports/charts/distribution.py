"""How the scores of all samples are distributed: one small histogram for each metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.wording import many, percent
from prompt_evaluator.reports.charts.parts import chart, labels, nothing, quantity, shown, spoken, tooltip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import Chart, ChartData, ScoreBin
    from prompt_evaluator.reports.charts.parts import Row, Specification

_WIDTH, _HEIGHT, _COLUMNS, _MOST = 190, 100, 3, 24


def draw(data: ChartData) -> Chart:
    bins: dict[str, list[ScoreBin]] = {}
    for one in data.bins:
        bins.setdefault(one.metric, []).append(one)
    scored = {metric: each for metric, each in bins.items() if _total(each)}
    if not scored:
        return nothing(data, "No sample has a score, so there is no distribution to show.")
    metrics = list(scored)[:_MOST]
    names = labels(metrics, 34)
    columns = min(_COLUMNS, len(metrics))
    larger = 1 if columns > 1 else 2
    size = {"width": _WIDTH * larger, "height": _HEIGHT * larger}
    drawn = [{**size, **_histogram(scored[metric]), "title": _heading(names[metric])} for metric in metrics]
    left_out = len(scored) - len(metrics)
    more = f" {many(left_out, 'more metric')} not shown." if left_out else ""
    return chart(
        data,
        {"concat": drawn, "columns": columns, "spacing": 20},
        subtitle=f"Share of samples by score.{more}",
        alternative=f"Most frequent scores: {spoken([_sentence(each) for each in scored.values()])}.{more}",
    )


def _heading(name: str) -> Specification:
    return {"text": name, "fontSize": 12, "offset": 4, "anchor": "start"}


def _total(bins: Sequence[ScoreBin]) -> int:
    return sum(one.count for one in bins)


def _histogram(bins: Sequence[ScoreBin]) -> Specification:
    total = _total(bins)
    rows = [_row(one, total) for one in bins]
    ends = [bins[0].low, bins[-1].high]
    ticks = {"title": None, "tickCount": 5, "grid": False, "format": "~g"}
    x = {"scale": {"domain": ends, "nice": False, "zero": False}, "axis": ticks}
    most = max(row["share"] for row in rows)
    y = quantity(
        "share", axis={"title": None, "format": "%", "tickCount": 3}, scale={"domain": [0, most * 1.08], "nice": False}
    )
    mark = {"type": "bar", "style": "pe-bar", "binSpacing": 1}
    details = tooltip(scores="scores", samples="samples")
    place = {"x": quantity("low", bin={"binned": True}, **x), "x2": {"field": "high"}, "y": y, "tooltip": details}
    return {"data": {"values": rows}, "mark": mark, "encoding": place}


def _row(one: ScoreBin, total: int) -> Row:
    return {
        "low": one.low,
        "high": one.high,
        "share": one.count / total,
        "scores": _scores(one),
        "samples": f"{one.count:,} of {total:,}",
    }


def _sentence(bins: Sequence[ScoreBin]) -> str:
    total = _total(bins)
    most = max(bins, key=lambda one: one.count)
    return f"{shown(most.metric)} {_scores(most)} ({percent(most.count / total)} of {many(total, 'sample')})"


def _scores(one: ScoreBin) -> str:
    """`4` for a bin around a whole number, otherwise `0.3 to 0.4`."""
    middle = (one.low + one.high) / 2
    return f"{middle:g}" if one.high - one.low == 1 and middle.is_integer() else f"{one.low:.3g} to {one.high:.3g}"
