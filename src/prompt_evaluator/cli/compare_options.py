"""Options of the commands that compare runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from prompt_evaluator.app.comparison_findings import SHOWN_CASES
from prompt_evaluator.cli.lazy import TYPED
from prompt_evaluator.cli.number_option import number_type
from prompt_evaluator.cli.options import several_words
from prompt_evaluator.model.bounds import FLAG_THRESHOLD, METRIC_THRESHOLD, whole_number_in
from prompt_evaluator.model.comparison import CompareOptions
from prompt_evaluator.model.several import SEVERAL

if TYPE_CHECKING:
    from collections.abc import Callable

_DEFAULTS = CompareOptions()
_SHOW = "--show"
F = TypeVar("F", bound="Callable[..., Any]")


def compare_options(command: F) -> F:
    """Add the options that say what to compare by."""
    for add in reversed(_OPTIONS):
        command = add(command)
    return command


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--metric-threshold",
        type=number_type(METRIC_THRESHOLD),
        default=_DEFAULTS.metric_threshold,
        show_default=True,
        metavar="X",
        help="Smallest difference of means that matters, on a scale from 1 to 5; in proportion on other scales.",
    ),
    click.option(
        "--flag-threshold",
        type=number_type(FLAG_THRESHOLD),
        default=_DEFAULTS.flag_threshold,
        show_default=True,
        metavar="X",
        help="Smallest difference of shares that matters.",
    ),
    click.option(
        "--allow-different",
        is_flag=True,
        help="Compare runs with different datasets, rubrics or judges, on the cases that both have unchanged.",
    ),
    click.option(
        "--slice",
        "slices",
        multiple=True,
        callback=several_words,
        metavar="KEY",
        help="Metadata key to slice the cases by.  [default: every key that divides them into a few groups] " + SEVERAL,
    ),
)


def comparing(options: dict[str, Any]) -> CompareOptions:
    """Take what to compare by out of a command's options."""
    names = [name for name in CompareOptions.__struct_fields__ if name in options]
    return CompareOptions(**{name: options.pop(name) for name in names})


class ShowCommand(click.Command):
    """A command with `--show [N]`; a run's name after it is not taken for N."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = args[: args.index("--")] if "--" in args else args
        for at, argument in enumerate(options):
            if argument == _SHOW and (at + 1 == len(options) or whole_number_in(options[at + 1]) is None):
                args = [*args[:at], f"{_SHOW}={SHOWN_CASES}", *args[at + 1 :]]
        ctx.meta[TYPED] = (*ctx.command_path.split()[1:], *args)
        return super().parse_args(ctx, args)
