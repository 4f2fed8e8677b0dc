"""The option type for numbers within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from prompt_evaluator.model.bounds import Bound

_SHOWN = 40


class Number(click.FloatRange):
    """A number within a bound; a click range, so that `--help` shows the range."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound.least, bound.most)
        self.bound = bound
        if bound.whole:
            self.name = "integer range"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        text = str(value)
        try:
            return self.bound.read_text(text)
        except ValueError:
            shown = f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text
            raise click.BadParameter(f"It has to be {self.bound.words}, not {shown!r}.", ctx=ctx, param=param) from None


def number_type(bound: Bound) -> Number:
    """The option type for a bound."""
    return Number(bound)
