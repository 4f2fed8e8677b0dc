"""Summary of a harness run on a terminal: one line per configuration, problems, and what to do next."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.evals.running import FEWEST_TASKS
from prompt_evaluator.app.evals.tasks import shown_path
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.grid import Cell, Column, GridRow, grid
from prompt_evaluator.cli.marks import symbol
from prompt_evaluator.cli.output import print_json, print_lines
from prompt_evaluator.cli.text import clean, columns, wrap
from prompt_evaluator.model.wording import decimal, many

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.evals.running import HarnessOutcome
    from prompt_evaluator.cli.running import RunCommand
    from prompt_evaluator.model.group import Member
    from prompt_evaluator.model.harness import HarnessRun, HarnessSummary

_WIDEST_TEXT = 110
_FAILED = 3
_COLUMNS = [
    Column("completion"),
    *(Column(title, right=True) for title in ("n", "retries", "incidents", "latency", "errors")),
]


def conclude_harness(command: RunCommand, outcome: HarnessOutcome, again: Sequence[str]) -> int:
    """Print the summary, or JSON, and what went wrong; return the exit code.

    Args:
        command: The command that ran.
        outcome: How the run ended.
        again: What to add to the next command, so that it uses the same folder.
    """
    if command.as_json:
        print_json(
            {
                "run": outcome.run,
                "written": outcome.is_written,
                "results": str(outcome.results),
                "intervals": outcome.intervals,
            }
        )
    elif outcome.run:
        print_lines(summary_lines(outcome, outcome.run, columns(sys.stdout), again))
    codes = [0]
    for member in outcome.members:
        if member.outcome:
            codes.append(command.exit_code(member.outcome))
        elif member.error:
            codes.append(member.error.exit_code)
        if why := _why(member):
            click.echo(f"Error: {clean(member.model)}: {why}", err=True)
    if not outcome.is_written:
        resume = shlex.join([*program(), "evals", "run", *again, "--resume"])
        text = "This run is not finished, so it was not added to the results. To finish it, paying only for what is "
        click.echo(f"{text}missing: {resume}", err=True)
        codes.append(max(codes) or _FAILED)
    return max(codes)


def _why(member: Member) -> str | None:
    """Return why a configuration has no results, or not all."""
    if member.outcome is None:
        return str(member.error) if member.error else None
    if member.outcome.stopped_by:
        return str(member.outcome.stopped_by)
    return "Every task failed; see the errors." if member.outcome.record.status == "failed" else None


def summary_lines(outcome: HarnessOutcome, run: HarnessRun, width: int, again: Sequence[str]) -> list[str]:
    """Return the table with its headline and notes, in coloured lines narrower than `width`."""
    width -= 1
    text_width = min(width, _WIDEST_TEXT)
    parts = [
        _head(run, text_width),
        grid(_COLUMNS, [_row(each, run, outcome.intervals.get(each.config_id)) for each in run.summaries], width),
        _errors(run, text_width),
        _notes(run, text_width),
        _next(outcome, text_width, again),
    ]
    lines = [line for part in parts if part for line in (*part, "")]
    return ["", *lines[:-1]]


def _head(run: HarnessRun, width: int) -> list[str]:
    tasks = max(each.total_tasks for each in run.summaries)
    often = "once" if run.samples == 1 else f"{run.samples:,} times each"
    text = f"{many(tasks, 'task')} with {many(len(run.summaries), 'configuration')}, {often}."
    few = f", or none below {FEWEST_TASKS} tasks" if tasks < FEWEST_TASKS else ""
    method = f"Completion of n answered samples, with a 95 % interval{few}. Latency is the mean of all responses."
    return [click.style(text, bold=True), *wrap(method, width)]


def _row(summary: HarnessSummary, run: HarnessRun, interval: tuple[float, float] | None) -> GridRow:
    found = [each for each in run.evaluations if each.config_id == summary.config_id]
    answered = len(found) - summary.errors
    cells = (
        Cell(_completion(summary, interval)),
        Cell(f"{answered:,}"),
        Cell(_number(summary.retries_per_task, 2)),
        Cell(f"{summary.hallucination_incidents:,}"),
        Cell("-" if summary.latency_avg_ms is None else f"{summary.latency_avg_ms:,.0f} ms"),
        Cell(f"{summary.errors:,}"),
    )
    return GridRow(summary.config_id, cells)


def _completion(summary: HarnessSummary, interval: tuple[float, float] | None) -> str:
    rate = summary.task_completion_rate
    if rate is None:
        return "no answer"
    between = "no interval" if interval is None else " to ".join(decimal(end, 0) for end in interval)
    return f"{rate:5.1f} % ({between})"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else decimal(value, digits)


def _errors(run: HarnessRun, width: int) -> list[str]:
    """Return the first error of each configuration that has any."""
    lines = []
    for summary in run.summaries:
        if not summary.errors:
            continue
        first = next(each for each in run.evaluations if each.config_id == summary.config_id and each.error)
        what = f"{summary.config_id}: {many(summary.errors, 'error')}, the first in {first.task_id}: {first.error}"
        start, *more = wrap(" ".join(clean(what).split()), width - 2)
        lines += [f"{symbol('warning')} {start}", *(f"  {line}" for line in more)]
    return lines


def _notes(run: HarnessRun, width: int) -> list[str]:
    if not run.synthetic:
        return []
    text = "SYNTHETIC: made up offline by the mock. These are not a model's results."
    return [click.style(line, fg="yellow") for line in wrap(text, width)]


def _next(outcome: HarnessOutcome, width: int, again: Sequence[str]) -> list[str]:
    if not outcome.is_written:
        return []
    gate = shlex.join([*program(), "evals", "gate", *again])
    return [*wrap(f"Added to {clean(str(shown_path(outcome.results)))}.", width), f"Next: {gate}"]
