"""Option types for numbers within bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from prompt_evaluator.model.bounds import Bound

_SHOWN = 40


class WholeNumber(click.IntRange):
    """A whole number within a bound; a click range, so that `--help` shows the range."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(int(bound.least), int(bound.most))
        self.bound = bound

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _read(self.bound, value, param, ctx)


class Number(click.FloatRange):
    """A number within a bound; a click range, so that `--help` shows the range."""

    def __init__(self, bound: Bound) -> None:
        super().__init__(bound.least, bound.most)
        self.bound = bound

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _read(self.bound, value, param, ctx)


def number_type(bound: Bound) -> WholeNumber | Number:
    """The option type for a bound."""
    return WholeNumber(bound) if bound.whole else Number(bound)


def _read(bound: Bound, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float:
    text = str(value)
    try:
        return bound.read_text(text)
    except ValueError:
        shown = f"{text[:_SHOWN]}…" if len(text) > _SHOWN else text
        raise click.BadParameter(f"It has to be {bound.words}, not {shown!r}.", ctx=ctx, param=param) from None
