"""Marks of findings, for terminals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from prompt_evaluator.model.findings import Mark

COLOURS = {"good": "green", "warning": "yellow", "bad": "red"}
_SYMBOLS = {"good": "✓", "warning": "⚠", "bad": "✗"}


def symbol(mark: Mark | None) -> str:
    """Return the coloured symbol of a mark, one column wide; a blank without a mark."""
    return click.style(_SYMBOLS[mark], fg=COLOURS[mark]) if mark else " "
