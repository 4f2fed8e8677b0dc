"""The harness's gate on a terminal: what moved, against which limit, and the verdict."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.evals.gate_documents import noise_findings
from prompt_evaluator.cli.gate_view import gate_table
from prompt_evaluator.cli.grid import Cell, Column, GridRow, grid
from prompt_evaluator.cli.marks import symbol
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.text import clean, coloured, columns, plain, wrap, writable
from prompt_evaluator.model.harness_gate import FAILED, PASSED, SKIPPED
from prompt_evaluator.model.wording import decimal, many, short_number, signed

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model.gate_findings import GateFindings
    from prompt_evaluator.model.harness_gate import GateOutcome, Movement

_WIDEST_TEXT = 110
_MOST_DIGITS = 9
_METRICS = {
    "task_completion_rate": ("completion, %", 2),
    "latency_avg_ms": ("latency, ms", 0),
    "hallucination_incidents": ("hallucinations", 0),
    "retries_per_task": ("retries per task", 2),
}
_TITLES = {
    "fail": (FAILED, "red"),
    "refused": ("The eval regression gate has no verdict:", "red"),
    "inconclusive": ("The eval regression gate is inconclusive:", "yellow"),
}


def print_outcome(outcome: GateOutcome) -> None:
    """Print what moved and what is worth knowing to standard output; a failure or a refusal to standard error."""
    width = columns(sys.stdout) - 1
    noise = [_noise(name, each, width) for name, each in noise_findings(outcome).items()]
    parts = [_heading(outcome, width), _moved(outcome, width), *noise, _notes(outcome, width)]
    before = [line for part in parts if part for line in (*part, "")]
    match outcome.verdict:
        case "pass":
            print_lines([*before, click.style(PASSED, fg="green", bold=True)])
        case "skipped":
            print_lines([SKIPPED, *_notes(outcome, width)])
        case _:
            if before:
                print_lines(before)
                sys.stdout.flush()
            title, colour = _TITLES[outcome.verdict]
            advice = [f"To compare them all the same: --allow {','.join(outcome.allow)}"] if outcome.allow else []
            reasons = [line for each in outcome.reasons for line in _listed(clean(each))]
            _print_errors([click.style(title, fg=colour, bold=True), *reasons, *advice])


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
    if outcome.run_id is None or outcome.baseline_run_id is None:
        return []
    text = (
        f"Run {outcome.run_id}{_when(outcome.timestamp)} against {outcome.baseline_run_id}"
        f"{_when(outcome.baseline_timestamp)}, {outcome.baseline}"
    )
    return wrap(clean(text), min(width, _WIDEST_TEXT))


def _when(timestamp: str | None) -> str:
    return f" ({timestamp[:16].replace('T', ' ')})" if timestamp else ""


def _moved(outcome: GateOutcome, width: int) -> list[str]:
    moved = [each for each in outcome.movements if each.difference]
    if not outcome.movements:
        return []
    same = len(outcome.movements) - len(moved)
    if not moved:
        configurations = many(len({each.config_id for each in outcome.movements}), "configuration")
        return [f"None of the four metrics of {configurations} changed."]
    titles = [
        Column("Baseline", right=True),
        Column("Latest", right=True),
        Column("Change"),
        Column("Limit", right=True),
    ]
    lines = grid(titles, [_row(each) for each in moved], width)
    return [*lines, *([click.style(f"{many(same, 'other metric')} did not change.", dim=True)] if same else [])]


def _noise(name: str, found: GateFindings, width: int) -> list[str]:
    """What was tested of one configuration."""
    heading = f"{symbol(found.mark)} {click.style(clean(name), bold=True)}"
    return [heading, *gate_table("Metric", found.metrics, width), *gate_table("Guardrail", found.guardrails, width)]


def _row(moved: Movement) -> GridRow:
    name, digits = _METRICS[moved.metric]
    digits = _telling_digits(moved, digits)
    texts = [decimal(value, digits) for value in (moved.baseline, moved.candidate)]
    change = Cell(signed(moved.difference, digits), "bad" if moved.exceeded else "good")
    sign = "\N{MINUS SIGN}" if moved.metric == "task_completion_rate" else "+"
    limit = f"{sign}{short_number(moved.limit)}" if moved.limit else "0"
    return GridRow(name, (*map(Cell, texts), change, Cell(limit)), section=moved.config_id)


def _telling_digits(moved: Movement, digits: int) -> int:
    """Enough of them to see the change, and on which side of the limit it is."""
    size = abs(moved.difference)
    for each in range(digits, _MOST_DIGITS):
        shown = round(size, each)
        if shown and (shown > moved.limit or not moved.exceeded):
            return each
    return _MOST_DIGITS


def _notes(outcome: GateOutcome, width: int) -> list[str]:
    return [line for note in outcome.notes for line in wrap(clean(note), min(width, _WIDEST_TEXT))]
