"""Runs compared answer by answer, on a terminal."""

from __future__ import annotations

from itertools import chain, repeat
from typing import TYPE_CHECKING

import click

from prompt_evaluator.cli.marks import symbol
from prompt_evaluator.cli.table import Row, table
from prompt_evaluator.cli.text import clean, hang, wrap

if TYPE_CHECKING:
    from prompt_evaluator.model.pairwise import PairwiseFinding, PairwiseFindings, StrengthFinding

_INDENT = 4
_GUTTER = 10
_WIDEST_TEXT = 110


def pairwise_lines(found: PairwiseFindings, width: int) -> list[str]:
    """The findings in coloured lines of at most `width` columns."""
    width = min(width, _WIDEST_TEXT)
    lines = wrap(clean(found.headline), width)
    if found.synthetic:
        lines += [click.style(line, fg="yellow") for line in wrap(found.synthetic, width)]
    for comparison in found.comparisons:
        lines += ["", *_comparison(comparison, width)]
    if found.strengths:
        lines += ["", *_strengths(found.strengths, width)]
    if found.no_strengths:
        lines += ["", *wrap(found.no_strengths, width)]
    return lines


def _comparison(found: PairwiseFinding, width: int) -> list[str]:
    sentence = [click.style(line, bold=True) for line in wrap(clean(found.text), width - 2)]
    lines = [f"{start} {line}" for start, line in zip(chain([symbol(found.mark)], repeat(" ")), sentence, strict=False)]
    room = width - _INDENT - _GUTTER
    for label, text in found.facts:
        lines += [" " * _INDENT + line for line in hang(label, wrap(text, room), _GUTTER)]
    for text in found.warnings:
        lines += [" " * _INDENT + click.style(line, fg="yellow") for line in wrap(clean(text), width - _INDENT)]
    return lines


def _strengths(found: tuple[StrengthFinding, ...], width: int) -> list[str]:
    rows = [Row(None, each.name, (each.strength, each.interval, each.chance), ()) for each in found]
    return table("Run", ("Strength", "95 % interval", "Preferred to an average run"), rows, width)
