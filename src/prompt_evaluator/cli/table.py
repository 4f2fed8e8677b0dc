"""A table that fits a terminal: if it is too wide, notes move below their rows, then columns move into the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import click

from prompt_evaluator.cli.marks import symbol
from prompt_evaluator.cli.text import cells, clean, flow, pad, squeeze

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.findings import Mark

_LONGEST_NAME = 28


class Row(NamedTuple):
    """One row of a table. Values that do not fit move to its notes."""

    mark: Mark | None
    name: str
    values: tuple[str, ...]
    notes: tuple[str, ...]


def table(title: str, titles: Sequence[str], rows: Sequence[Row], width: int) -> list[str]:
    """The rows below their titles, in lines of at most `width` columns, in colour."""
    longest = max(cells(clean(row.name)) for row in rows)
    for visible in range(len(titles), 0, -1):
        widths = [max(cells(text) for text in column) for column in _columns(titles, rows, visible)]
        room = width - 2 - sum(2 + each for each in widths)
        if room >= min(longest, _LONGEST_NAME) or visible == 1:
            break
    names = max(4, min(longest, room, max(_LONGEST_NAME, width // 4)), cells(title))
    used = 2 + names + sum(2 + each for each in widths)
    lines = [click.style(_cells("  ", title, titles[:visible], names, widths).rstrip(), dim=True)]
    notes_fit = width - used - 2 >= max(
        (cells(note) for row in rows for note in _notes(row, titles, visible)), default=0
    )
    for row in rows:
        line = _cells(f"{symbol(row.mark)} ", squeeze(clean(row.name), names), row.values[:visible], names, widths)
        notes = _notes(row, titles, visible)
        if notes_fit:
            first, *more = flow(notes, width - used - 2) or [""]
            lines.append(f"{line}  {first}".rstrip())
            lines += [f"{'':{used + 2}}{note}" for note in more]
        else:
            lines.append(line.rstrip())
            lines += [f"    {note}" for note in flow(notes, width - 4)]
    return lines


def _columns(titles: Sequence[str], rows: Sequence[Row], visible: int) -> list[list[str]]:
    return [[titles[at], *(row.values[at] for row in rows)] for at in range(visible)]


def _notes(row: Row, titles: Sequence[str], visible: int) -> list[str]:
    hidden = zip(titles[visible:], row.values[visible:], strict=True)
    return [*(_named(title, value) for title, value in hidden if value), *row.notes]


def _named(title: str, value: str) -> str:
    """A value with its title, unless it starts with it, as in `p = 0.03`."""
    return value if value.startswith(f"{title} ") else f"{title[0].lower()}{title[1:]} {value}"


def _cells(mark: str, name: str, values: Sequence[str], names: int, widths: Sequence[int]) -> str:
    """Right-align the first value, a number, so that decimal points line up; left-align the others."""
    texts = (pad(value, width, right=not at) for at, (value, width) in enumerate(zip(values, widths, strict=True)))
    return f"{mark}{pad(name, names)}  {'  '.join(texts)}"
