"""Compares the runs of a group with the run of the same model and the first prompt."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import click
import msgspec

from prompt_evaluator.app.compare import open_comparison
from prompt_evaluator.app.comparison_findings import ComparedRuns, letter
from prompt_evaluator.app.comparison_json import comparison_list
from prompt_evaluator.cli.compare_output import print_comparisons
from prompt_evaluator.cli.comparison_view import GUTTER
from prompt_evaluator.cli.group_running import conclude_group, conclude_members, group_document
from prompt_evaluator.cli.group_table import title_line
from prompt_evaluator.cli.output import print_lines, write_lines
from prompt_evaluator.cli.text import SEPARATOR, columns, hang, pad, squeeze_apart
from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.model.comparison import CompareOptions
from prompt_evaluator.model.wording import listed, many

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.app.compare import OpenComparison
    from prompt_evaluator.cli.running import RunCommand
    from prompt_evaluator.model.group import Member

_ENDED = ("completed", "partial")
_LETTERS = 3
"""Columns."""


class _Compared(NamedTuple):
    members: Sequence[Member]
    """Of one model; the baseline first."""
    opened: OpenComparison

    @property
    def title(self) -> str:
        baseline, *others = self.members
        who = others[0].subject if len(others) == 1 else many(len(others), "prompt")
        return f"{who} compared with {baseline.subject}{SEPARATOR}{baseline.model}"


def conclude_compared(command: RunCommand, members: Sequence[Member]) -> int:
    """Print the group and the comparisons, or JSON, and return the worst exit code."""
    code = 0 if command.as_json else conclude_group(command, members)
    with ExitStack() as stack:
        compared, errors = _compared(command, members, stack)
        if command.as_json:
            write_lines(_json(members, compared), None)
            code = conclude_members(command, members)
        else:
            _print(command, compared)
    for sentence in (*_incomplete(members), *(f"Error: {error}" for error in errors)):
        click.echo(sentence, err=True)
    return max([code, *(error.exit_code for error in errors)])


def _compared(
    command: RunCommand, members: Sequence[Member], stack: ExitStack
) -> tuple[list[_Compared], list[PromptEvaluatorError]]:
    """Compare the prompts of each model, and return why some could not be compared."""
    found, errors = [], []
    for alike in _by_model(members):
        runs = [_run_id(each) for each in alike]
        try:
            opened = stack.enter_context(open_comparison(command.settings, runs, CompareOptions()))
        except PromptEvaluatorError as error:
            errors.append(error)
        else:
            found.append(_Compared(alike, opened))
    return found, errors


def _by_model(members: Sequence[Member]) -> Iterator[list[Member]]:
    """Return the runs of each model that can be compared, if the baseline is among them."""
    for model in dict.fromkeys(member.model for member in members):
        baseline, *others = [member for member in members if member.model == model]
        ended = [member for member in others if _has_ended(member)]
        if ended and _has_ended(baseline):
            yield [baseline, *ended]


def _incomplete(members: Sequence[Member]) -> Iterator[str]:
    """Return what is not compared, and why."""
    for model in dict.fromkeys(member.model for member in members):
        baseline, *others = [member for member in members if member.model == model]
        left = [member.subject for member in others if not _has_ended(member)]
        if not _has_ended(baseline):
            yield f"Nothing is compared for {model}: its run with {baseline.subject}, the baseline, is incomplete."
        elif left:
            runs = "run is" if len(left) == 1 else "runs are"
            yield f"Not compared for {model}, because the {runs} incomplete: {listed(left)}."


def _has_ended(member: Member) -> bool:
    return member.outcome is not None and member.outcome.record.status in _ENDED


def _run_id(member: Member) -> str:
    assert member.outcome is not None  # noqa: S101 - only runs that have ended are compared
    return member.outcome.record.plan.run_id


def _print(command: RunCommand, compared: Sequence[_Compared]) -> None:
    for each in compared:
        width = columns(sys.stdout)
        names = squeeze_apart((member.subject for member in each.members), width - GUTTER - _LETTERS)
        prompts = [f"{pad(letter(at), _LETTERS)}{names[member.subject]}" for at, member in enumerate(each.members)]
        print_lines(["", title_line(each.title, width), *hang("Prompts", prompts, GUTTER), ""])
        print_comparisons(each.opened, ComparedRuns(command.settings, [_run_id(member) for member in each.members]))


def _json(members: Sequence[Member], compared: Sequence[_Compared]) -> Iterator[bytes]:
    """The group's document with the comparisons, which are written as they are made."""
    text = REDACTOR.json(msgspec.json.encode(group_document(members)))
    yield msgspec.json.format(text, indent=2).removesuffix(b"\n}") + b',\n  "comparisons": '
    yield from comparison_list([comparison for each in compared for comparison in each.opened.comparisons])
    yield b"\n}\n"
