"""A comparison of two runs on a terminal: findings with marks, colours and line breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.cli.marks import COLOURS, symbol
from prompt_evaluator.cli.summary import step_lines
from prompt_evaluator.cli.table import Row, table
from prompt_evaluator.cli.text import cells, clean, hang, pad, squeeze, wrap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.comparison_findings import (
        ComparisonFindings,
        DifferenceFinding,
        FlippedCase,
        PairedFinding,
        RunLabel,
    )

GUTTER = 10
WIDEST_TEXT = 110
"""Longer lines of prose are hard to read, however wide the terminal is."""
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_MOST_DIFF, _SHORT_DIFF = 40, 8
"""Lines of a diff."""
_SHORT_CASES = 3


def comparison_lines(found: ComparisonFindings, width: int, *, short: bool = False) -> list[str]:
    """The findings in coloured lines narrower than `width`. Only commands may be longer.

    Args:
        found: The findings.
        width: Of the terminal.
        short: Whether the numbers were shown before, and what the runs are called.
    """
    page = _Page(found, width - 1, short=short)
    start = [page.headline()] if short else [page.headline(), runs_lines((found.baseline, found.candidate), width)]
    numbers = [] if short else [page.metrics(), page.flags(), page.amounts()]
    parts = (*start, page.warnings(), page.differs(), *numbers, page.flipped(), page.slices(), page.next_steps())
    lines = [line for part in parts if part for line in (*part, "")]
    return lines[:-1]


def runs_lines(runs: Sequence[RunLabel], width: int) -> list[str]:
    """Say which run each letter stands for."""
    room = width - 1
    names = [squeeze(clean(run.name), max(12, room // 3)) for run in runs]
    letters = max(cells(run.letter) for run in runs)
    start = letters + 2 + max(map(cells, names)) + 2
    lines: list[str] = []
    for run, name in zip(runs, names, strict=True):
        label = f"{pad(run.letter, letters)}  {name}"
        lines += hang(label, wrap(clean(run.text), max(20, min(room, WIDEST_TEXT) - start)), start)
    return lines


def mark_lines(mark: str, lines: Sequence[str]) -> list[str]:
    """Put a mark before the first line, and indent the others."""
    return [f"{mark if not at else ' '} {line}" for at, line in enumerate(lines)]


class _Page:
    def __init__(self, found: ComparisonFindings, width: int, *, short: bool) -> None:
        self._found, self._width, self._short = found, width, short
        self._text_width = min(width, WIDEST_TEXT)

    def headline(self) -> list[str]:
        mark = self._found.mark
        lines = wrap(clean(self._found.headline), self._text_width - 2)
        colour = COLOURS[mark] if mark else None
        return mark_lines(symbol(mark), [click.style(line, fg=colour, bold=True) for line in lines])

    def warnings(self) -> list[str]:
        lines: list[str] = []
        for text in self._found.warnings:
            texts = [click.style(line, fg="yellow") for line in wrap(clean(text), self._text_width - 2)]
            lines += mark_lines(symbol("warning"), texts)
        return lines

    def differs(self) -> list[str]:
        found = self._found.differs
        if not found:
            return hang("Differs", wrap(self._found.no_difference or "", self._text_width - GUTTER), GUTTER)
        labels = [squeeze(clean(each.label), max(12, self._width // 4)) for each in found]
        start = max(map(cells, labels)) + 2
        lines: list[str] = []
        for label, each in zip(labels, found, strict=True):
            lines += hang(label, wrap(clean(each.text), max(20, self._text_width - GUTTER - start)), start)
            lines += [f"  {line}" for line in self._diff(each)]
        return hang("Differs", lines, GUTTER)

    def _diff(self, found: DifferenceFinding) -> list[str]:
        """The first lines of a diff; long lines are broken, with their sign repeated."""
        most = _SHORT_DIFF if self._short else _MOST_DIFF
        room = self._width - GUTTER - 4
        lines = [
            click.style(f"{line[:1]}{piece}", fg=_DIFF_COLOURS.get(line[:1]))
            for line in found.diff[:most]
            for piece in wrap(clean(line[1:].expandtabs(4)), room) or [""]
        ][:most]
        if len(found.diff) > most or len(lines) == most:
            lines.append(click.style("… all of it is in --json", dim=True))
        return lines

    def metrics(self) -> list[str]:
        return self._table("Metric", self._found.metrics)

    def flags(self) -> list[str]:
        lines = self._table("Flag", self._found.flags)
        others = self._found.other_flags
        return [*lines, *(f"  {line}" for line in wrap(clean(others or ""), self._text_width - 2))]

    def _table(self, title: str, found: Sequence[PairedFinding]) -> list[str]:
        rows = [_row(each) for each in found]
        arrow = f"{self._found.baseline.letter} → {self._found.candidate.letter}"
        titles = (arrow, "Verdict", "Difference (95 % interval)", "p", "Effect", "Cases")
        shown = [at for at in range(len(titles)) if any(row.values[at] for row in rows)]
        narrowed = [row._replace(values=tuple(row.values[at] for at in shown)) for row in rows]
        return table(title, [titles[at] for at in shown], narrowed, self._width) if rows else []

    def amounts(self) -> list[str]:
        lines: list[str] = []
        for each in self._found.amounts:
            colour = COLOURS[each.mark] if each.mark else None
            texts = wrap(clean(each.text), self._text_width - GUTTER)
            lines += hang(each.label, [click.style(line, fg=colour) for line in texts], GUTTER)
        return lines

    def flipped(self) -> list[str]:
        found = self._found.flipped
        names = max((cells(clean(each.metric)) for each in found.counts), default=0)
        names = min(names, max(12, self._width // 3))
        lines = [f"{pad(squeeze(clean(each.metric), names), names)}  {each.text}" for each in found.counts]
        lines += wrap(found.text, self._text_width - GUTTER)
        shown = found.cases[: _SHORT_CASES if self._short else None]
        lines += self._cases(shown)
        if more := found.more + len(found.cases) - len(shown):
            lines.append(f"and {more:,} more: all cases are in --json")
        return hang("Cases", lines, GUTTER)

    def _cases(self, cases: Sequence[FlippedCase]) -> list[str]:
        room = self._width - GUTTER - 2
        ids = [squeeze(clean(each.test_case_id), max(12, room * 2 // 5)) for each in cases]
        metrics = [squeeze(clean(each.metric), max(8, room // 4)) for each in cases]
        widths = [max(map(cells, texts), default=0) for texts in (ids, metrics)]
        return [
            f"{symbol('bad' if each.class_ == 'worse' else 'good')} {pad(case_id, widths[0])}  "
            f"{pad(metric, widths[1])}  {each.class_:6}  {each.text}"
            for each, case_id, metric in zip(cases, ids, metrics, strict=True)
        ]

    def slices(self) -> list[str]:
        found = self._found.slices
        if found is None:
            return []
        lines = hang("Slices", wrap(found.text, self._text_width - GUTTER), GUTTER)
        return [*lines, *self._table("Slice", found.slices)]

    def next_steps(self) -> list[str]:
        room = self._width - GUTTER
        steps = [line for step in self._found.next_steps for line in step_lines(step, room)]
        return hang("Next", [click.style(line, bold=True) for line in steps], GUTTER)


def _row(found: PairedFinding) -> Row:
    between = f" ({found.interval})" if found.interval else ""
    values = (
        found.means,
        found.word,
        f"{found.difference}{between}",
        found.p,
        found.effect,
        found.record,
    )
    return Row(found.mark, found.name, values, tuple(map(clean, found.notes)))
