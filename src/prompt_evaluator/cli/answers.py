"""The answers of one case on a terminal, each with its scores, flags and errors."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.run_table import SHORT_ID
from prompt_evaluator.cli.text import SEPARATOR, clean, columns, fit, flow, hang, wrap
from prompt_evaluator.model.wording import decimal, kind, many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.app.run_cases import WholeCase
    from prompt_evaluator.model.query import SampleLine, ScoreLine

_MOST_LINES = 6
"""Lines per answer, so that several answers fit on a screen."""
_MOST_ANSWERS = 10
_WIDEST_TEXT = 110


def print_answers(found: WholeCase) -> None:
    """Print each answer with its scores, flags and errors."""
    print_lines([*_answers(found, columns(sys.stdout) - 1), ""])


def _answers(found: WholeCase, width: int) -> list[str]:
    """Return each sample's answer with its scores, flags and errors, in coloured lines of at most `width` columns."""
    samples = found.view.samples or ()
    width = min(width, _WIDEST_TEXT)
    shown = [line for sample in samples[:_MOST_ANSWERS] for line in (*_sample(sample, width), "")]
    if (more := len(samples) - _MOST_ANSWERS) > 0:
        shown += [f"and {many(more, 'more answer')}", ""]
    command = f"{shlex.join(program())} runs show {found.record.plan.run_id[:SHORT_ID]} --case"
    return [*shown, f"In full: {command} {shlex.quote(found.case.id)}"] if _is_cut(samples, width) else shown[:-1]


def _is_cut(samples: Sequence[SampleLine], width: int) -> bool:
    return len(samples) > _MOST_ANSWERS or any(len(_answer(sample, width)) > _MOST_LINES for sample in samples)


def _sample(sample: SampleLine, width: int) -> Iterator[str]:
    title = f"Sample {sample.sample + 1}"
    scores = [_score(name, score) for name, score in sample.scores.items()]
    first, *more = flow(scores or [sample.status.replace("_", " ")], width - len(title) - 2, SEPARATOR)
    yield f"{click.style(title, bold=True)}  {first}"
    yield from (f"{'':{len(title) + 2}}{line}" for line in more)
    lines = _answer(sample, width)
    yield from (f"  {line}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield click.style(f"  … {many(len(lines) - _MOST_LINES, 'more line')}", dim=True)
    if raised := [clean(name) for name, is_raised in sample.flags.items() if is_raised]:
        yield from _labelled("flags: ", ", ".join(raised), width, "yellow")
    yield from _errors(sample, width)


def _answer(sample: SampleLine, width: int) -> list[str]:
    lines = (sample.answer or "").strip().splitlines()
    return [piece for line in lines for piece in wrap(clean(line.expandtabs(4)), width - 2) or [""]]


def _score(name: str, score: ScoreLine) -> str:
    if score.value is None:
        return f"{clean(name)} {score.outcome}"
    return f"{clean(name)} {decimal(score.value, 2)}{' (does not pass)' if score.passed is False else ''}"


def _errors(sample: SampleLine, width: int) -> Iterator[str]:
    """Return why there is no answer, or no score for some metric."""
    failed = {name: f"{name}: {score.reason}" for name, score in sample.scores.items() if score.outcome == "failed"}
    if sample.error_message and sample.error_metric not in failed:
        about = "" if sample.error_metric else f"{kind(sample.error_kind or '')}: "
        failed = {"": f"{about}{sample.error_message}", **failed}
    for text in failed.values():
        yield from _labelled("error: ", fit(" ".join(clean(text).split()), 4 * width), width, "red")


def _labelled(label: str, text: str, width: int, colour: str) -> Iterator[str]:
    lines = hang(label, wrap(text, width - 2 - len(label)), len(label))
    yield from (f"  {click.style(line, fg=colour)}" for line in lines)
