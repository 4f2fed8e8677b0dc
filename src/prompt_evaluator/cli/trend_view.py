"""Trends on a terminal: a sentence, a row of bars, a table of runs, and what changed where."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from prompt_evaluator.cli.sparkline import sparkline
from prompt_evaluator.cli.text import cells, clean, fit, hang, pad, shell_lines, squeeze, wrap
from prompt_evaluator.model.wording import decimal, many

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.model.findings import NextStep
    from prompt_evaluator.model.trend import MetricFindings, MetricTrend, TrendFindings, TrendPoint, Trends

_SHORT_ID = 8
_GUTTER = 8
_WIDEST_TEXT = 110
_NORMAL = 1.959964
_SHOWN_AROUND = 2
"""Runs shown before and after one that is worth seeing; longer stretches without any are left out."""
_SHORT_TABLE = 24
"""Up to so many runs, all are shown."""
_LONGEST_PROMPT = 16
_NARROW = 60
"""Below so many columns, the table has neither times of day nor prompts."""
_DAY = 10
_SYNTHETIC = "* synthetic: the offline mock answered or judged"
_LONGEST_NAME = 28
_NOISE_HEIGHT = 6.0
"""The height of the bars, at least, in standard errors."""
_MARKS = {"rose": ("▲", "green"), "fell": ("▼", "red"), "blip": ("○", "yellow")}


def trend_lines(trends: Trends, found: TrendFindings, width: int) -> list[str]:
    """All of it, in coloured lines narrower than `width`."""
    width -= 1
    text_width = min(width, _WIDEST_TEXT)
    if len(trends.metrics) == 1:
        (metric,) = trends.metrics
        parts = _metric_parts(metric, found.metrics[metric.name], found.heading, width)
        parts[-1] += _paragraph([note.text for note in found.notes], text_width)
    else:
        parts = [
            _paragraph([found.heading], text_width, bold=True),
            _overview(trends, found, width),
            _paragraph([note.text for note in found.notes], text_width),
        ]
    parts.append(_next(found.next_step, width))
    return [line for part in parts if part for line in (*part, "")][:-1]


def _metric_parts(metric: MetricTrend, said: MetricFindings, heading: str, width: int) -> list[list[str]]:
    """One metric in full: sentence, bars, table, changes and notes."""
    text_width = min(width, _WIDEST_TEXT)
    return [
        _paragraph([said.sentence], text_width, bold=True),
        [*_paragraph([heading], text_width), *_bars(metric, width)],
        _table(metric, width),
        _paragraph(said.changes, text_width),
        _paragraph([note.text for note in said.notes], text_width),
    ]


def _paragraph(texts: Iterable[str], width: int, *, bold: bool = False) -> list[str]:
    """Each text wrapped, from the left margin."""
    lines = [line for text in texts for line in wrap(clean(text), width)]
    return [click.style(line, bold=True) for line in lines] if bold else lines


def _next(step: NextStep | None, width: int) -> list[str]:
    if step is None:
        return []
    return hang(
        "Next", [click.style(line, bold=True) for line in shell_lines(step.arguments, width - _GUTTER)], _GUTTER
    )


def _bars(metric: MetricTrend, width: int) -> list[str]:
    if len(metric.points) == 1:
        return []
    ends = f"{decimal(min(_means(metric)), metric.digits)} to {decimal(max(_means(metric)), metric.digits)}"
    room = width - cells(ends) - 2
    return [f"{_spark(metric, room)}  {ends}"]


def _spark(metric: MetricTrend, width: int) -> str:
    """The row of bars, cut where the level changes. What noise explains stays low."""
    least = max((point.error or 0.0 for point in metric.points), default=0.0) * _NOISE_HEIGHT
    at = {point.run_id: index for index, point in enumerate(metric.points)}
    cuts = [at[change.run_id] for change in metric.changes]
    return sparkline(_means(metric), width, cuts=cuts, least=least)


def _means(metric: MetricTrend) -> list[float]:
    return [point.mean for point in metric.points]


class _Row(NamedTuple):
    mark: str
    cells: tuple[str, ...]
    differences: str


def _table(metric: MetricTrend, width: int) -> list[str]:
    marks = _run_marks(metric)
    rows = [_row(point, metric, marks.get(point.run_id, "")) for point in metric.points]
    narrow = width < _NARROW
    if narrow:
        rows = [row._replace(cells=(row.cells[0][:_DAY], *row.cells[1:3])) for row in rows]
    versions = not narrow and any(row.cells[-1] for row in rows)
    titles = ["When" if narrow else "When (UTC)", "Run", "Mean ± 95 %", *(["Prompt"] if versions else [])]
    widths = [max(cells(title), *(cells(row.cells[at]) for row in rows)) for at, title in enumerate(titles)]
    header = "  " + "".join(f"{pad(title, each)}  " for title, each in zip(titles, widths, strict=True))
    lines = [click.style(f"{header}Changed" if width - cells(header) >= len("Changed") else header.rstrip(), dim=True)]
    shown = _shown(metric, rows)
    hidden = 0
    for at, row in enumerate(rows):
        if at not in shown:
            hidden += 1
            continue
        if hidden:
            lines.append(click.style(f"  … {many(hidden, 'run')} more", dim=True))
            hidden = 0
        lines += _drawn(row, widths, width)
    if any(point.synthetic for point in metric.points):
        lines.append(click.style(fit(_SYNTHETIC, width), dim=True))
    return lines


def _run_marks(metric: MetricTrend) -> dict[str, str]:
    changes = {change.run_id: "fell" if change.after < change.before else "rose" for change in metric.changes}
    return changes | {point.run_id: "blip" for point in metric.points if point.blip}


def _row(point: TrendPoint, metric: MetricTrend, mark: str) -> _Row:
    symbol, colour = _MARKS.get(mark, (" ", None))
    when = point.started_at[:16].replace("T", " ")
    run = point.run_id[:_SHORT_ID] + ("*" if point.synthetic else "")
    partial = ["partial"] if point.status == "partial" else []
    return _Row(
        click.style(symbol, fg=colour) if colour else symbol,
        (
            when,
            run,
            _measured(point, metric.digits),
            squeeze(clean(point.prompt_version or ""), _LONGEST_PROMPT),
        ),
        ", ".join([*partial, *(["blip"] if mark == "blip" else []), *(clean(each.text) for each in point.differences)]),
    )


def _measured(point: TrendPoint, digits: int) -> str:
    """`4.21 ± 0.09`, `4.21 ± <0.01`."""
    mean = decimal(point.mean, digits)
    if point.error is None:
        return mean
    half = _NORMAL * point.error
    least = 10**-digits
    return f"{mean} ± {decimal(half, digits)}" if half >= least / 2 else f"{mean} ± <{decimal(least, digits)}"


def _shown(metric: MetricTrend, rows: Sequence[_Row]) -> set[int]:
    """All runs, or those near the ends and near anything worth seeing."""
    if len(rows) <= _SHORT_TABLE:
        return set(range(len(rows)))
    marks = _run_marks(metric)
    worth = [at for at, point in enumerate(metric.points) if point.run_id in marks or rows[at].differences]
    if len(worth) > _SHORT_TABLE:
        worth = [at for at in worth if metric.points[at].run_id in marks]
    ends = (0, len(rows) - 1)
    near = {at + step for at in (*ends, *worth) for step in range(-_SHOWN_AROUND, _SHOWN_AROUND + 1)}
    # A gap of one line takes as much room as the run.
    near |= {at for at in range(len(rows)) if at - 1 in near and at + 1 in near}
    return near


def _drawn(row: _Row, widths: Sequence[int], width: int) -> list[str]:
    line = f"{row.mark} " + "".join(f"{pad(text, each)}  " for text, each in zip(row.cells, widths, strict=False))
    if cells(row.differences) <= width - 2 - sum(2 + each for each in widths):
        return [(line + row.differences).rstrip()]
    return [line.rstrip(), *(f"    {part}" for part in wrap(row.differences, width - 4))]


def _overview(trends: Trends, found: TrendFindings, width: int) -> list[str]:
    """One line of bars for each metric, with its sentence below."""
    names = min(_LONGEST_NAME, max(cells(clean(metric.name)) for metric in trends.metrics))
    lines = []
    for metric in trends.metrics:
        last = metric.points[-1]
        now = _measured(last, metric.digits)
        bars = _spark(metric, width - names - cells(now) - 4)
        lines.append(f"{pad(squeeze(clean(metric.name), names), names)}  {bars}  {now}")
        lines += [
            f"  {line}" for line in wrap(clean(found.metrics[metric.name].sentence), min(width, _WIDEST_TEXT) - 2)
        ]
    return lines
