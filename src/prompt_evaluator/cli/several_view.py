"""More than two runs on a terminal: one table, then each candidate in short form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.cli.comparison_view import WIDEST_TEXT, comparison_lines, runs_lines
from prompt_evaluator.cli.grid import Cell, Column, GridRow, grid
from prompt_evaluator.cli.group_table import title_line
from prompt_evaluator.cli.text import wrap

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison_findings import SeveralFindings, SeveralRow


def several_lines(found: SeveralFindings, width: int) -> list[str]:
    """All runs in coloured lines narrower than `width`, without what to do next."""
    lines = [*runs_lines(found.runs, width), ""]
    if found.rows:
        columns = [Column(run.letter) for run in found.runs]
        lines += [*grid(columns, [_row(row) for row in found.rows], width - 1), ""]
    notes = [line for note in found.notes for line in wrap(note, min(width - 1, WIDEST_TEXT))]
    lines += [*notes, ""] if notes else []
    for each in found.comparisons:
        title = f"{each.candidate.letter} against {each.baseline.letter}"
        lines += [title_line(title, width), *comparison_lines(each, width, short=True), ""]
    return lines[:-1]


def _row(found: SeveralRow) -> GridRow:
    return GridRow(found.name, (Cell(found.baseline), *(Cell(each.text, each.mark) for each in found.candidates)))
