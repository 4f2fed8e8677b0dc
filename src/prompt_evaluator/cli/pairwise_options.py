"""The flags of `compare --pairwise`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

from prompt_evaluator.cli.options import option
from prompt_evaluator.model.options import OPTIONS
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Callable

_JUDGE = ("judge_model", "allow_mock_judge")
F = TypeVar("F", bound="Callable[..., Any]")


def pairwise_options(command: F) -> F:
    """Add the flags."""
    for name in reversed(LIMITS):
        command = option(name, help=f"With --pairwise: {_inside(LIMITS[name].help)}")(command)
    command = option("allow_mock_judge", help=f"With --pairwise: {_inside(OPTIONS['allow_mock_judge'].help)}")(command)
    command = option(
        "judge_model", help="With --pairwise: the model that judges, as PROVIDER/MODEL.", otherwise="B's own judge"
    )(command)
    return click.option(
        "--pairwise",
        is_flag=True,
        help="Also ask a judge which of two answers is better, in both orders. Nothing is asked twice.",
    )(command)


def pairwise_given(options: dict[str, Any]) -> dict[str, Any] | None:
    """Take the values of the flags out of a command's options; None without `--pairwise`."""
    wanted = options.pop("pairwise")
    given = {name: options.pop(name) for name in (*_JUDGE, *LIMITS)}
    if wanted:
        return given
    for name, value in given.items():
        if value is not None and value is not False:
            flag = {**OPTIONS, **LIMITS}[name].flag
            raise click.UsageError(f"{flag} needs --pairwise: without it, no judge is asked.")
    return None


def _inside(text: str) -> str:
    """A help text as part of a sentence."""
    return text[0].lower() + text[1:]
