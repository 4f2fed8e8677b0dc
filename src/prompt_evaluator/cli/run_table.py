"""Runs as a table with one line per run, at any terminal width."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

import click

from prompt_evaluator.app.findings import digits
from prompt_evaluator.cli.text import cells, clean, fit, pad, squeeze
from prompt_evaluator.model.wording import decimal, money, percent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.model.result import OverallMetric

SHORT_ID = 8
_GAP = 2
_SHORTEST_NOTE = 12
_SHORTEST_NAME = 5
_USUAL = 14
"""Names up to this length are not shortened to make room for one more metric."""
_COLOURS = {
    "completed": "green",
    "queued": "cyan",
    "running": "cyan",
    "partial": "yellow",
    "interrupted": "yellow",
    "aborted": "yellow",
    "failed": "red",
}
_SYNTHETIC = "*"
_FOOTNOTE = "* synthetic: the offline mock answered or judged"
_MOST_METRICS = 6
_DISPENSABLE = ("Prompt", "Cost", "Target")
"""Columns to drop on a very narrow terminal, in this order."""


class _Column(NamedTuple):
    title: str
    texts: list[str]
    least: int | None = None
    """Least width of the texts, which are shortened in the middle; None if they must not be shortened."""
    right: bool = False
    style: Callable[[int, str], str] | None = None
    """Called with a row's index and text."""
    numbers: list[str] | None = None
    """Follow the texts, and are never shortened."""

    @property
    def behind(self) -> int:
        return 1 + max(map(cells, self.numbers)) if self.numbers else 0

    @property
    def longest(self) -> int:
        return max(cells(self.title), max(map(cells, self.texts)) + self.behind)

    @property
    def narrowest(self) -> int:
        if self.least is None:
            return self.longest
        return min(self.longest, max(self.least + self.behind, cells(self.title)))

    def cell(self, at: int, width: int) -> str:
        room = width - self.behind
        text = pad(squeeze(self.texts[at], room), room, right=self.right)
        if self.numbers:
            text += f" {pad(self.numbers[at], self.behind - 1)}"
        return self.style(at, text) if self.style else text

    def head(self, width: int) -> str:
        return pad(squeeze(self.title, width), width, right=self.right)


def run_table(lines: Sequence[RunLine], width: int, now: datetime) -> list[str]:
    """A header and the runs, in lines of at most `width` columns, in colour."""
    before, after = _before(lines), _after(lines, now)
    chosen = next(
        [*before, *metrics, *after]
        for metrics in _metric_choices(lines)
        if _total([*before, *metrics, *after], generous=len(metrics) > 1) <= width or not metrics
    )
    for title in _DISPENSABLE:
        if _total(chosen) > width:
            chosen = [column for column in chosen if column.title != title]
    notes = _Column("Note", [clean(line.note or "") for line in lines], _SHORTEST_NOTE)
    if any(notes.texts) and _total([*chosen, notes]) <= width:
        chosen = [*chosen, notes]
    footnotes = [click.style(fit(_FOOTNOTE, width), dim=True)] if any(line.synthetic for line in lines) else []
    return [*_drawn(chosen, _widths(chosen, width), len(lines)), *footnotes]


def _drawn(columns: Sequence[_Column], widths: Sequence[int], count: int) -> list[str]:
    both, gap = list(zip(columns, widths, strict=True)), " " * _GAP
    header = gap.join(column.head(width) for column, width in both).rstrip()
    rows = [gap.join(column.cell(at, width) for column, width in both).rstrip() for at in range(count)]
    return [click.style(header, dim=True), *rows]


def age(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h`, `5 d`."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:,.0f} {unit}"
    return f"{max(0, seconds):.0f} s"


def _before(lines: Sequence[RunLine]) -> list[_Column]:
    def coloured(at: int, text: str) -> str:
        return click.style(text, fg=_COLOURS.get(lines[at].status))

    targets = [clean(line.generator_model or "") + (_SYNTHETIC if line.synthetic else "") for line in lines]
    columns = [
        _Column("Run", [line.run_id[:SHORT_ID] for line in lines]),
        _Column("Status", [_status(line) for line in lines], style=coloured),
        _Column("Dataset", [clean(line.dataset_name or "in memory") for line in lines], 6),
        _Column("Target", targets, 8),
    ]
    versions = [clean(line.prompt_version or "") for line in lines]
    return [*columns, *([_Column("Prompt", versions, 6)] if any(versions) else [])]


def _after(lines: Sequence[RunLine], now: datetime) -> list[_Column]:
    costs = ["" if line.cost is None else money(line.cost) for line in lines]
    ages = [age((now - datetime.fromisoformat(line.started_at)).total_seconds()) for line in lines]
    return [_Column("Cost", costs, right=True), _Column("Age", ages, right=True)]


def _status(line: RunLine) -> str:
    progress = line.progress
    if line.status != "running" or progress is None or not progress.samples:
        return line.status
    return f"running {percent(int(100 * progress.samples_done / progress.samples) / 100)}"


def _metric_choices(lines: Sequence[RunLine]) -> list[list[_Column]]:
    """Columns for the first metrics of each run: all of them, then ever fewer, one without its interval, and none."""
    found = [list(line.summary.overall_metric_stats.items())[:_MOST_METRICS] if line.summary else [] for line in lines]
    most = max(map(len, found))

    def column(place: int, *, interval: bool) -> _Column:
        here = [metrics[place] if place < len(metrics) else None for metrics in found]
        numbers = [_numbers(each[1], interval=interval) if each else "" for each in here]
        title = "" if place else "Mean (95 %)" if interval else "Mean"
        return _Column(title, [clean(each[0]) if each else "" for each in here], _SHORTEST_NAME, numbers=numbers)

    whole = [[column(place, interval=True) for place in range(count)] for count in range(most, 0, -1)]
    return [*whole, *([[column(0, interval=False)]] if most else []), []]


def _numbers(metric: OverallMetric, *, interval: bool) -> str:
    places = digits(metric.scale)
    mean = decimal(metric.mean_of_means, places)
    if metric.interval is None or not interval:
        return mean
    low, high = (decimal(end, places) for end in metric.interval)
    return f"{mean} ({low}–{high})"  # noqa: RUF001 - a dash between two ends


def _total(columns: Sequence[_Column], *, generous: bool = False) -> int:
    """The least width of these columns; if `generous`, with room for names of the usual length."""
    least = [
        max(column.narrowest, min(column.longest, _USUAL + column.behind)) if generous else column.narrowest
        for column in columns
    ]
    return sum(least) + _GAP * (len(columns) - 1)


def _widths(columns: Sequence[_Column], width: int) -> list[int]:
    """Give the remaining width to shortened texts, always to the shortest of them."""
    widths = [column.narrowest for column in columns]
    for _ in range(width - _total(columns)):
        cut = [at for at, column in enumerate(columns) if widths[at] < column.longest]
        if not cut:
            break
        widths[min(cut, key=lambda at: widths[at] - columns[at].behind)] += 1
    return widths
