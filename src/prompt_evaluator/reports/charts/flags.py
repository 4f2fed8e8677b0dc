"""How often flags were raised, with intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.chart import MOST_ROWS
from prompt_evaluator.model.wording import many, percent
from prompt_evaluator.reports.charts.dots import Dot, dot_panel
from prompt_evaluator.reports.charts.parts import chart, labels, nothing, shown, spoken

if TYPE_CHECKING:
    from prompt_evaluator.model.chart import Chart, ChartData, ChartSize, FlagBar


def draw(data: ChartData, size: ChartSize) -> Chart:
    if not data.flags:
        return nothing(data, "No flag was judged, so there are no rates to show.")
    most: dict[str, float] = {}
    for bar in data.flags:
        most[bar.flag] = max(bar.share, most.get(bar.flag, 0.0))
    names = sorted(most, key=lambda flag: -most[flag])
    bars = sorted((bar for bar in data.flags if bar.flag in names[:MOST_ROWS]), key=lambda bar: names.index(bar.flag))
    rows, runs = labels(bar.flag for bar in bars), labels(bar.run for bar in bars)
    dots = [
        Dot(
            row=rows[bar.flag],
            run=runs[bar.run],
            value=bar.share,
            low=bar.low,
            high=bar.high,
            text=_text(bar),
            detail=many(bar.asked, "sample"),
        )
        for bar in bars
    ]
    end = min(1.0, max(0.1, *(bar.high or bar.share for bar in bars)) * 1.02)
    x = {
        "scale": {"domain": [0, end], "nice": False},
        "axis": {"title": "share of samples that raise the flag", "format": "%", "tickCount": 5},
    }
    more = f" {many(len(names) - MOST_ROWS, 'more flag')} not shown." if len(names) > MOST_ROWS else ""
    several = len(runs) > 1
    return chart(
        data,
        dot_panel(dots, x, size),
        subtitle=f"Share of samples with its 95 % interval, the most frequent flag first.{more}",
        alternative=f"Rates with 95 % intervals: {spoken([_sentence(bar, several=several) for bar in bars])}.{more}",
    )


def _text(bar: FlagBar) -> str:
    return f"{percent(bar.share)}  ({bar.raised:,} of {bar.asked:,})"


def _sentence(bar: FlagBar, *, several: bool) -> str:
    of = f" in {shown(bar.run)}" if several else ""
    interval = "no interval" if bar.low is None or bar.high is None else f"{percent(bar.low)} to {percent(bar.high)}"
    return f"{shown(bar.flag)}{of} {percent(bar.share)} ({interval}; {bar.raised:,} of {many(bar.asked, 'sample')})"
