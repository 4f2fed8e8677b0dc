"""How commands that look after a store show what they are doing."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from prompt_evaluator.cli.text import clean, columns, fit

if TYPE_CHECKING:
    from typing import Self

_ON_TERMINAL, _ELSEWHERE = 0.2, 10.0
"""Seconds between two lines of progress."""
_ERASE = "\r\x1b[K"


class ProgressLine:
    """The last line that was said, on standard error: replaced on a terminal, and now and then elsewhere."""

    def __init__(self) -> None:
        self._live = sys.stderr.isatty()
        self._last = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            click.echo(_ERASE, nl=False, err=True)

    def say(self, text: str) -> None:
        now = time.monotonic()
        if now - self._last < (_ON_TERMINAL if self._live else _ELSEWHERE):
            return
        self._last = now
        if self._live:
            click.echo(_ERASE + fit(clean(text), columns(sys.stderr) - 1), nl=False, err=True)
        else:
            click.echo(clean(text), err=True)
