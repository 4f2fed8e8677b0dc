"""Grids of short texts. Columns that do not fit the width go into further blocks, with the row names repeated."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from prompt_evaluator.cli.marks import symbol
from prompt_evaluator.cli.text import cells, clean, pad, squeeze, squeeze_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.findings import Mark

_GAP = 2
_LONGEST_NAME, _CUT_NAME, _SHORTEST_NAME = 28, 20, 8
_LONGEST_TITLE = 28


class Column(NamedTuple):
    """The header of a column."""

    title: str
    right: bool = False
    """Whether its cells are right-aligned, as numbers are."""


class Cell(NamedTuple):
    """A short text with an optional mark before it."""

    text: str
    mark: Mark | None = None


class GridRow(NamedTuple):
    """One line. Rows of the same section are adjacent, below the section's name."""

    name: str
    cells: tuple[Cell, ...]
    section: str = ""


def row_labels(pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return section and row name for each subject (a dataset or prompt) and model, without what all have in common."""
    subjects, models = ({pair[at] for pair in pairs} for at in (0, 1))
    if len(models) == 1 and len(subjects) > 1:
        return [("", subject) for subject, _ in pairs]
    return [("" if len(subjects) == 1 else subject, model) for subject, model in pairs]


def grid(columns: Sequence[Column], rows: Sequence[GridRow], width: int) -> list[str]:
    """Return the rows below their titles, in coloured lines of at most `width` terminal columns."""
    return _Grid(columns, rows, width).lines()


def fits(columns: Sequence[Column], rows: Sequence[GridRow], width: int) -> bool:
    """Whether all columns fit side by side with names long enough to tell apart."""
    return _Grid(columns, rows, width).fits


class _Grid:
    def __init__(self, columns: Sequence[Column], rows: Sequence[GridRow], width: int) -> None:
        self._columns, self._rows = columns, rows
        self._indent = 2 if any(row.section for row in rows) else 0
        self._marked = [any(row.cells[at].mark for row in rows) for at in range(len(columns))]
        self._widths = [self._column_width(at) for at in range(len(columns))]
        longest = max(self._indent + cells(clean(row.name)) for row in rows)
        self._names, self._chunks = self._arranged(longest, width)
        self._row_names = squeeze_apart([row.name for row in rows], self._names - self._indent)
        self._sections = squeeze_apart([row.section for row in rows], width)
        self.fits = len(self._chunks) == 1

    def lines(self) -> list[str]:
        found: list[str] = []
        for chunk in self._chunks:
            found += [*([""] if found else ()), *self._block(chunk)]
        return found

    def _arranged(self, longest: int, width: int) -> tuple[int, list[list[int]]]:
        """Return the width of the names and the columns of each block. Names are cut if that saves a block."""
        room = max(_SHORTEST_NAME, width - max(self._widths) - _GAP)
        whole = min(longest, room, max(_LONGEST_NAME, width // 4))
        names_room = width - sum(_GAP + each for each in self._widths)
        cut = [names for names in (names_room, _CUT_NAME) if _CUT_NAME <= names < whole]
        tried = {names: self._chunked(width - names) for names in (whole, *cut)}
        return min(tried.items(), key=lambda each: (len(each[1]), -each[0]))

    def _column_width(self, at: int) -> int:
        title = min(cells(clean(self._columns[at].title)), _LONGEST_TITLE)
        mark = _GAP if self._marked[at] else 0
        return max(title, *(mark + cells(row.cells[at].text) for row in self._rows))

    def _chunked(self, room: int) -> list[list[int]]:
        chunks: list[list[int]] = [[]]
        used = 0
        for at, width in enumerate(self._widths):
            if chunks[-1] and used + _GAP + width > room:
                chunks.append([])
                used = 0
            chunks[-1].append(at)
            used += _GAP + width
        return chunks

    def _block(self, chunk: Sequence[int]) -> list[str]:
        titles = [self._aligned(squeeze(clean(self._columns[at].title), self._widths[at]), at) for at in chunk]
        lines = [click.style(self._line("", titles), dim=True)]
        section = ""
        for row in self._rows:
            if row.section != section:
                section = row.section
                lines.append(click.style(self._sections[section], bold=True))
            name = " " * self._indent + self._row_names[row.name]
            lines.append(self._line(name, [self._cell(row.cells[at], at) for at in chunk]))
        return lines

    def _line(self, name: str, texts: Sequence[str]) -> str:
        return f"{pad(name, self._names)}{''.join(' ' * _GAP + text for text in texts)}".rstrip()

    def _cell(self, cell: Cell, at: int) -> str:
        if not self._marked[at]:
            return self._aligned(cell.text, at)
        return f"{symbol(cell.mark)} {pad(cell.text, self._widths[at] - _GAP)}"

    def _aligned(self, text: str, at: int) -> str:
        return pad(text, self._widths[at], right=self._columns[at].right)
