"""A comparison of two runs on a terminal: findings with marks, colours and line breaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.cli.marks import COLOURS, symbol
from prompt_evaluator.cli.summary import step_lines
from prompt_evaluator.cli.table import Row, table
from prompt_evaluator.cli.text import cells, clean, hang, pad, squeeze, wrap
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.comparison_findings import (
        ComparisonFindings,
        DifferenceFinding,
        FlippedCase,
        PairedFinding,
        RunLabel,
    )
    from prompt_evaluator.model.findings import NextStep

GUTTER = 10
WIDEST_TEXT = 110
"""Longer lines of prose are hard to read, however wide the terminal is."""
_NARROWEST_TEXT = 24
_DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
_MOST_DIFF, _SHORT_DIFF = 40, 8
"""Lines of a diff."""
_SHORT_CASES = 3


def comparison_lines(found: ComparisonFindings, width: int, *, short: bool = False) -> list[str]:
    """The findings in coloured lines narrower than `width`, without what to do next.

    Args:
        found: The findings.
        width: Of the terminal.
        short: Whether one of several comparisons, whose numbers and names were shown before.
    """
    page = _Page(found, width - 1, short=short)
    start = [page.headline()] if short else [page.headline(), runs_lines((found.baseline, found.candidate), width)]
    numbers = [] if short else [page.metrics(), page.flags(), page.amounts()]
    parts = (*start, page.warnings(), page.differs(), *numbers, page.flipped(), page.slices())
    lines = [line for part in parts if part for line in (*part, "")]
    return lines[:-1]


def runs_lines(runs: Sequence[RunLabel], width: int) -> list[str]:
    """Say which run has which letter."""
    letters = max(cells(run.letter) for run in runs)
    names = [squeeze(clean(run.name), max(12, width // 3)) for run in runs]
    labels = [f"{pad(run.letter, letters)}  {name}" for run, name in zip(runs, names, strict=True)]
    return labelled(labels, [clean(run.text) for run in runs], min(width - 1, WIDEST_TEXT))


def labelled(labels: Sequence[str], texts: Sequence[str], width: int) -> list[str]:
    """Put labels before their texts, or above them if there is not enough room."""
    start = max(map(cells, labels)) + 2
    beside = width - start >= _NARROWEST_TEXT
    lines: list[str] = []
    for label, text in zip(labels, texts, strict=True):
        if beside:
            lines += hang(label, prose(text, width - start) or [""], start)
        else:
            lines += [label, *(f"  {line}" for line in prose(text, width - 2))]
    return lines


def prose(text: str, width: int) -> list[str]:
    """Wrap a text without control characters; a word that is wider than a line loses its middle."""
    return [squeeze(line, width) for line in wrap(clean(text), width)]


def mark_lines(mark: str, lines: Sequence[str]) -> list[str]:
    """Put a mark before the first line, and indent the others."""
    return [f"{mark if not at else ' '} {line}" for at, line in enumerate(lines)]


class _Page:
    def __init__(self, found: ComparisonFindings, width: int, *, short: bool) -> None:
        self._found, self._width, self._short = found, width, short
        self._text_width = min(width, WIDEST_TEXT)

    def headline(self) -> list[str]:
        mark = self._found.mark
        lines = prose(self._found.headline, self._text_width - 2)
        if mark is None:
            return [click.style(line, bold=True) for line in lines]
        return mark_lines(symbol(mark), [click.style(line, fg=COLOURS[mark], bold=True) for line in lines])

    def warnings(self) -> list[str]:
        lines: list[str] = []
        for text in self._found.warnings:
            texts = [click.style(line, fg="yellow") for line in prose(text, self._text_width - 2)]
            lines += mark_lines(symbol("warning"), texts)
        return lines

    def differs(self) -> list[str]:
        found = self._found.differs
        if not found:
            return hang("Differs", prose(self._found.no_difference or "", self._text_width - GUTTER), GUTTER)
        labels = [squeeze(clean(each.label), max(12, self._width // 4)) for each in found]
        widest = max(map(cells, labels))
        lines: list[str] = []
        for label, each in zip(labels, found, strict=True):
            lines += labelled([pad(label, widest)], [clean(each.text)], self._text_width - GUTTER)
            lines += [f"  {line}" for line in self._diff(each)]
        return hang("Differs", lines, GUTTER)

    def _diff(self, found: DifferenceFinding) -> list[str]:
        """The first lines of a diff; long lines are broken, with their sign repeated."""
        most = _SHORT_DIFF if self._short else _MOST_DIFF
        lines: list[str] = []
        for at, line in enumerate(found.diff):
            pieces = self._broken(clean(line[1:].expandtabs(4)))
            if len(lines) + len(pieces) > most and at:
                more = f"… {many(len(found.diff) - at, 'more line')} in --json"
                return [*lines, click.style(more, dim=True)]
            lines += [click.style(f"{line[:1]}{piece}", fg=_DIFF_COLOURS.get(line[:1])) for piece in pieces[:most]]
        return lines

    def _broken(self, line: str) -> list[str]:
        """A line as it is if it fits; its indentation matters."""
        room = self._width - GUTTER - 4
        if cells(line) <= room:
            return [line]
        indent = " " * min(len(line) - len(line.lstrip(" ")), room // 2)
        return [f"{indent}{piece}" for piece in prose(line.strip(" "), room - len(indent))]

    def metrics(self) -> list[str]:
        return self._table("Metric", self._found.metrics)

    def flags(self) -> list[str]:
        lines = self._table("Flag", self._found.flags)
        others = self._found.other_flags
        return [*lines, *(f"  {line}" for line in prose(others or "", self._text_width - 2))]

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
            texts = prose(each.text, self._text_width - GUTTER)
            lines += hang(each.label, [click.style(line, fg=colour) for line in texts], GUTTER)
        return lines

    def flipped(self) -> list[str]:
        found = self._found.flipped
        names = [squeeze(clean(each.metric), max(12, self._width // 3)) for each in found.counts]
        lines = labelled(names, [each.text for each in found.counts], self._text_width - GUTTER) if names else []
        lines += prose(found.text, self._text_width - GUTTER)
        shown = found.cases[: _SHORT_CASES if self._short else None]
        lines += self._cases(shown)
        if more := found.more + len(found.cases) - len(shown):
            lines += prose(f"and {more:,} more: all cases are in --json", self._text_width - GUTTER)
        return hang("Cases", lines, GUTTER)

    def _cases(self, cases: Sequence[FlippedCase]) -> list[str]:
        room = self._width - GUTTER - 2
        ids = [squeeze(clean(each.test_case_id), max(12, room * 2 // 5)) for each in cases]
        metrics = [squeeze(clean(each.metric), max(8, room // 4)) for each in cases]
        widest = max(map(cells, metrics), default=0)
        texts = [
            f"{pad(metric, widest)}  {each.class_:6}  {each.text}" for each, metric in zip(cases, metrics, strict=True)
        ]
        longest_id, longest_text = (max(map(cells, each), default=0) for each in (ids, texts))
        lines: list[str] = []
        for each, case_id, text in zip(cases, ids, texts, strict=True):
            parts = (
                [f"{pad(case_id, longest_id)}  {text}"]
                if longest_id + 2 + longest_text <= room
                else [case_id, *prose(text, room)]
            )
            lines += mark_lines(symbol("bad" if each.class_ == "worse" else "good"), parts)
        return lines

    def slices(self) -> list[str]:
        found = self._found.slices
        if found is None:
            return []
        lines = hang("Slices", prose(found.text, self._text_width - GUTTER), GUTTER)
        return [*lines, *self._table("Slice", found.slices)]


def next_lines(steps: Sequence[NextStep], width: int) -> list[str]:
    """What to do next; commands can be pasted."""
    lines = [line for step in steps for line in step_lines(step, width - 1 - GUTTER)]
    return hang("Next", [click.style(line, bold=True) for line in lines], GUTTER)


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
