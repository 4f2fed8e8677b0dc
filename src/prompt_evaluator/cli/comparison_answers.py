"""Flipped cases on a terminal, with the answers of both runs side by side, or one below the other if it is narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.cli.comparison_view import mark_lines
from prompt_evaluator.cli.group_table import title_line
from prompt_evaluator.cli.marks import symbol
from prompt_evaluator.cli.text import cells, clean, hang, wrap
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison_findings import ShownAnswer, ShownCase

_SIDE_BY_SIDE = 100
"""Columns from which two answers fit beside each other."""
_BETWEEN = " │ "
_WIDEST_TEXT = 110
_MOST_LINES = 20
"""Of one answer."""
_MOST_INPUT = 8


def shown_case_lines(found: ShownCase, width: int) -> list[str]:
    """One case in coloured lines narrower than `width`."""
    room = width - 1
    lines = [title_line(f"case {found.test_case_id}", width)]
    if found.input is not None:
        lines += hang("input", _cut(_broken(found.input, min(room, _WIDEST_TEXT) - 7), _MOST_INPUT), 7)
    for each in found.scores:
        name = clean(each.metric)
        texts = wrap(clean(each.text), max(20, room - cells(name) - 4))
        lines += mark_lines(symbol(each.mark), hang(name, texts, cells(name) + 2))
    if found.likeness:
        lines += [click.style(f"  {line}", dim=True) for line in wrap(found.likeness, room - 2)]
    return [*lines, *_answers(found, room)] if found.answers else [*lines, "  The answers are not known."]


def _answers(found: ShownCase, room: int) -> list[str]:
    if len(found.answers) == 1 or room < _SIDE_BY_SIDE:
        return [line for each in found.answers for line in ("", *_answer(each, min(room, _WIDEST_TEXT)))]
    width = (room - len(_BETWEEN)) // 2
    left, right = (list(_answer(each, width)) for each in found.answers)
    height = max(len(left), len(right))
    left, right = ([*side, *[""] * (height - len(side))] for side in (left, right))
    return ["", *(f"{_pad(one, width)}{_BETWEEN}{other}".rstrip() for one, other in zip(left, right, strict=True))]


def _answer(found: ShownAnswer, width: int) -> Iterator[str]:
    yield click.style(found.title, bold=True)
    yield from _cut(_broken(found.answer, width - 2), _MOST_LINES)
    if found.error is not None:
        yield from (click.style(line, fg="red") for line in _labelled("error: ", found.error, width))
    for score in found.scores:
        yield from (click.style(line, dim=True) for line in hang("", wrap(clean(score), width - 2), 2))
    if found.flags:
        yield from (click.style(line, fg="yellow") for line in _labelled("flags: ", ", ".join(found.flags), width))


def _labelled(label: str, text: str, width: int) -> list[str]:
    return hang(f"  {label}", wrap(clean(text), max(10, width - 2 - len(label))), 2 + len(label))


def _broken(text: str, width: int) -> list[str]:
    """All lines of a text in pieces that fit; a word that is longer than a line is cut into pieces too."""
    lines = [clean(line.expandtabs(4)) for line in text.strip().splitlines()]
    pieces = [piece for line in lines for piece in wrap(line, width) or [""]]
    return [part for piece in pieces for part in _chopped(piece, width)]


def _chopped(piece: str, width: int) -> Iterator[str]:
    while cells(piece) > width:
        at = next(at for at in range(1, len(piece) + 1) if cells(piece[: at + 1]) > width)
        yield piece[:at]
        piece = piece[at:]
    yield piece


def _cut(lines: list[str], most: int) -> list[str]:
    shown = lines[:most]
    return [*shown, click.style(f"… {many(len(lines) - most, 'more line')}", dim=True)] if len(lines) > most else shown


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cells(click.unstyle(text)))
