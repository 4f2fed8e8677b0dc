"""A verdict of the gate on a terminal: findings with marks, colours and line breaks."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.app.gate_findings import findings_of
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.comparison_view import GUTTER, WIDEST_TEXT, mark_lines, next_lines, prose
from prompt_evaluator.cli.marks import COLOURS, symbol
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.table import Row, table
from prompt_evaluator.cli.text import clean, columns, hang
from prompt_evaluator.model.wording import many, percent, points, short_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.app.gate import Gated
    from prompt_evaluator.model.gate import GatePlan, MetricPlan
    from prompt_evaluator.model.gate_findings import GateFindings, GateRow

_ASSUMED = (
    "A change that affects some cases more than others needs more cases. All metrics have to pass, so a run with "
    "several passes less often."
)
_TITLES = ("Verdict", "Base → cand.", "Difference (interval)", "Margin")


def print_gate(gated: Gated) -> None:
    """Print the verdict, then everything that led to it."""
    print_lines(gate_lines(findings_of(gated, program()), columns(sys.stdout)))


def gate_lines(found: GateFindings, width: int) -> list[str]:
    """The findings in coloured lines narrower than `width`."""
    room = min(width - 1, WIDEST_TEXT)
    head = [click.style(line, fg=COLOURS[found.mark], bold=True) for line in prose(found.headline, room - 2)]
    parts = [
        mark_lines(symbol(found.mark), head),
        [line for text in found.reasons for line in mark_lines("-", prose(text, room - 2))],
        [line for text in found.warnings for line in mark_lines(symbol("warning"), _yellow(text, room - 2))],
        _table("Metric", found.metrics, width - 1),
        [*_table("Guardrail", found.guardrails, width - 1), *_indented(found.not_measured, room)],
        [*_table("Slice", found.slices, width - 1), *_indented(found.other_slices, room)],
        hang("Policy", [line for text in found.policy for line in prose(text, room - GUTTER)], GUTTER),
        next_lines(found.next_steps, width),
    ]
    lines = [line for part in parts if part for line in (*part, "")]
    return lines[:-1]


def plan_lines(found: GatePlan, width: int) -> list[str]:
    """How many cases and samples are needed, metric by metric."""
    room = min(width - 1, WIDEST_TEXT)
    size = f"{many(found.cases, 'case')} with {many(found.samples, 'sample')} each"
    head = (
        f"To pass a run that did not get worse {percent(found.power)} of the time, at a level of "
        f"{percent(found.level)}; {clean(found.run)} has {size}."
    )
    rows = [_plan_row(name, each, found) for name, each in found.metrics.items()]
    titles = ("Enough", "Margin", "Sees drops of", "Cases needed", "or samples", "Samples × cases")
    notes = [_ASSUMED]
    if any(each.from_one_sample for each in found.metrics.values()):
        notes.append(
            "With one sample per case, the spread is an upper limit: evaluate with two or more to plan better."
        )
    return [*prose(head, room), "", *table("Metric", titles, rows, width - 1), "", *_wrapped(notes, room)]


def _plan_row(name: str, found: MetricPlan, plan: GatePlan) -> Row:
    share = found.scale == (0.0, 1.0)

    def amount(value: float | None) -> str:
        if value is None:
            return "unknown"
        shown = float(f"{value:.2g}")
        return points(shown).lstrip("+") if share else short_number(shown)

    sizes = [f"{each.samples} × {each.cases:,}" for each in found.sizes if each.cases is not None]
    samples = f"{found.samples_needed:,}" if found.samples_needed is not None else "-"
    values = (
        "yes" if found.passes else "no",
        amount(found.margin),
        amount(found.smallest_drop),
        f"{found.cases_needed:,} × {plan.samples}" if found.cases_needed is not None else "none",
        samples,
        ", ".join(sizes),
    )
    return Row("good" if found.passes else "warning", name, values, ())


def _table(title: str, rows: Sequence[GateRow], width: int) -> list[str]:
    """Metrics, guardrails or slices; nothing if there are none."""
    return table(title, _TITLES, [_row(each) for each in rows], width) if rows else []


def _row(found: GateRow) -> Row:
    between = f" ({found.interval})" if found.interval else ""
    values = (found.word, found.levels, f"{found.difference}{between}", found.margin)
    return Row(found.mark, found.name, values, tuple(map(clean, found.notes)))


def _indented(text: str | None, width: int) -> list[str]:
    return [f"  {line}" for line in prose(text, width - 2)] if text else []


def _yellow(text: str, width: int) -> list[str]:
    return [click.style(line, fg="yellow") for line in prose(text, width)]


def _wrapped(texts: Sequence[str], width: int) -> Iterator[str]:
    for text in texts:
        yield from prose(text, width)
