"""The end of a command's help: the meaning of marks and words in its output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from prompt_evaluator.app.legend import COMPARISON_LEGEND, LEGEND
from prompt_evaluator.cli.text import SEPARATOR, hang, wrap, writable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.app.legend import Part

_WIDTH, _GAP = 76, 4
_AS_IT_IS = "\b\n"
"""Tells click not to rewrap the lines."""


def legend() -> str:
    """Return the legend for click's `epilog`."""
    return writable(_AS_IT_IS + "\n".join(_lines(LEGEND)), sys.stdout.encoding)


def comparison_legend() -> str:
    """Return the legend of comparisons for click's `epilog`."""
    return writable(_AS_IT_IS + "\n".join(_lines(COMPARISON_LEGEND)), sys.stdout.encoding)


def _lines(parts: Sequence[Part]) -> Iterator[str]:
    yield "Marks and words in the output:"
    labels = [[part.title] if part.unit else [entry.shown for entry in part.entries] for part in parts]
    gutter = max(len(label) for each in labels for label in each) + _GAP
    for part in parts:
        if part.unit:
            limits = SEPARATOR.join(f"{entry.shown} {entry.meaning}" for entry in part.entries)
            yield from _entry(part.title, f"{limits} ({part.unit})", gutter)
        for entry in () if part.unit else part.entries:
            yield from _entry(entry.shown, entry.meaning, gutter)


def _entry(shown: str, meaning: str, gutter: int) -> list[str]:
    return hang(f"  {shown}", wrap(meaning, _WIDTH - gutter - 2), gutter)
