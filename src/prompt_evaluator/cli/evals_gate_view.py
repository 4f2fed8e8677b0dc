"""The harness's gate on a terminal: what moved, against which limit, and the verdict."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.evals.gate_documents import TITLES, heading, moved_rows, unmoved
from prompt_evaluator.cli.grid import Cell, Column, GridRow, grid
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.text import clean, coloured, columns, plain, wrap, writable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model.harness_gate import GateOutcome, MovedRow

_WIDEST_TEXT = 110


def print_outcome(outcome: GateOutcome) -> None:
    """Print what moved and what is worth knowing to standard output; a failure or a refusal to standard error."""
    width = columns(sys.stdout) - 1
    parts = [_heading(outcome, width), _moved(outcome, width), _notes(outcome, width)]
    before = [line for part in parts if part for line in (*part, "")]
    match outcome.verdict:
        case "pass":
            print_lines([*before, click.style(TITLES["pass"], fg="green", bold=True)])
        case "skipped":
            print_lines([TITLES["skipped"], *_notes(outcome, width)])
        case _:
            if before:
                print_lines(before)
                sys.stdout.flush()
            advice = [f"To compare them all the same: --allow {','.join(outcome.allow)}"] if outcome.allow else []
            reasons = [line for each in outcome.reasons for line in _listed(clean(each))]
            title = click.style(TITLES[outcome.verdict], fg="red", bold=True)
            _print_errors([title, *reasons, *advice])


def _listed(reason: str) -> list[str]:
    """One line, so that it can be found in a log; wrapped for a person."""
    if not sys.stderr.isatty():
        return [f" - {reason}"]
    first, *more = wrap(reason, min(columns(sys.stderr) - 1, _WIDEST_TEXT) - 3)
    return [f" - {first}", *(f"   {line}" for line in more)]


def _print_errors(lines: Iterable[str]) -> None:
    text = "\n".join(lines)
    click.echo(writable(text if coloured(sys.stderr) else plain(text), sys.stderr.encoding), err=True, color=True)


def _heading(outcome: GateOutcome, width: int) -> list[str]:
    text = heading(outcome)
    return wrap(clean(text), min(width, _WIDEST_TEXT)) if text else []


def _moved(outcome: GateOutcome, width: int) -> list[str]:
    moved, same = moved_rows(outcome), unmoved(outcome)
    if not moved:
        return [same] if same else []
    titles = [
        Column("Baseline", right=True),
        Column("Latest", right=True),
        Column("Change"),
        Column("Limit", right=True),
    ]
    lines = grid(titles, [_row(each) for each in moved], width)
    return [*lines, *([click.style(same, dim=True)] if same else [])]


def _row(moved: MovedRow) -> GridRow:
    change = Cell(moved.change, "bad" if moved.exceeded else "good")
    cells = (Cell(moved.baseline), Cell(moved.candidate), change, Cell(moved.limit))
    return GridRow(moved.metric, cells, section=moved.config_id)


def _notes(outcome: GateOutcome, width: int) -> list[str]:
    return [line for note in outcome.notes for line in wrap(clean(note), min(width, _WIDEST_TEXT))]
