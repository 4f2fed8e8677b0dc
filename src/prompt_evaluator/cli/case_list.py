"""Cases of a run on a terminal: a few lines each, in the format of the dataset guide."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.run_table import SHORT_ID
from prompt_evaluator.cli.text import SEPARATOR, clean, fit, hang, shell_lines, squeeze, wrap
from prompt_evaluator.model.wording import decimal, kind, listed, many

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.app.run_cases import CaseList, CaseSelection, CaseView
    from prompt_evaluator.model.findings import CaseMetricFinding
    from prompt_evaluator.model.query import CaseLine, SampleLine

STATUS_COLOURS = {"completed": "green", "partial": "yellow", "failed": "red", "pending": "cyan"}
_GUTTER, _FLAGS = 10, len("  flags: ")
_LONGEST_ID = 60


def case_list(found: CaseList, selection: CaseSelection, width: int) -> list[str]:
    """A headline, the cases, and how to see more, in colour; answers and errors are cut at the width."""
    if not found.cases:
        return [_nothing(found, selection)]
    lines = [_headline(found, selection)]
    for view in found.cases:
        lines += ["", *_case(view, width)]
    return [*lines, "", *_after(found, selection, width)]


def metric_line(metric: CaseMetricFinding) -> str:
    """The statistics in the format of the guide, followed by its mark."""
    text = f"  {clean(metric.text)}"
    return f"{text}  {click.style(f'⚠️ {metric.label}', fg='yellow')}" if metric.label else text


def case_facts(line: CaseLine) -> str:
    """The status, and whether the case is failing, flaky or flagged."""
    ways = [name for name in ("failing", "flaky", "flagged") if getattr(line, name)]
    status = click.style(line.status, fg=STATUS_COLOURS[line.status])
    return SEPARATOR.join([status, *(click.style(way, fg="yellow") for way in ways)])


def unmeasured_lines(line: CaseLine) -> list[str]:
    return [
        click.style(f"  {clean(name)}: no score in {many(metric.missing, 'sample')}", fg="yellow")
        for name, metric in line.metrics.items()
        if metric.missing
    ]


def _headline(found: CaseList, selection: CaseSelection) -> str:
    cases = many(found.record.plan.dataset.selected, "case")
    order = f", sorted by {clean(found.metric)}, worst first" if found.metric else ""
    if selection.worst and not _asked(selection):
        return f"Worst: {len(found.cases):,} of {cases}{order}"
    return f"{_asked(selection)}: {found.matching:,} of {cases}{order}"


def _asked(selection: CaseSelection) -> str:
    ways = [name for name in ("failing", "flaky", "flagged") if getattr(selection, name)]
    return listed([*ways, *(["with errors"] if selection.errors else [])] or [""]).capitalize()


def _nothing(found: CaseList, selection: CaseSelection) -> str:
    cases = many(found.record.plan.dataset.selected, "case")
    so_far = " so far" if found.record.status == "running" else ""
    if selection.worst and not _asked(selection):
        return f"Worst: none of {cases} has a score for {clean(found.metric or 'any metric')}{so_far}."
    return f"{_asked(selection)}: none of {cases}{so_far}."


def _after(found: CaseList, selection: CaseSelection, width: int) -> Iterator[str]:
    run_id = found.record.plan.run_id[:SHORT_ID]
    more = found.matching - len(found.cases)
    if more > 0 and found.next and not selection.worst and not selection.cursor:
        yield f"{more:,} more: use --limit {found.matching}"
    command = (*program(), "runs", "show", run_id, "--case", clean(found.cases[0].line.case_id))
    yield from hang("Details", shell_lines(command, width - _GUTTER), _GUTTER)


def _case(view: CaseView, width: int) -> Iterator[str]:
    line = view.line
    yield f"Case: {click.style(squeeze(clean(line.case_id), _LONGEST_ID), bold=True)}  {case_facts(line)}"
    for metric in view.findings.metrics:
        yield metric_line(metric)
    yield from unmeasured_lines(line)
    if raised := [flag for flag in view.findings.flags if flag.raised]:
        text = ", ".join(f"{clean(each.name)} {each.text}" for each in raised)
        for part in hang("  flags:", wrap(text, width - _FLAGS), _FLAGS):
            yield click.style(part, fg="yellow")
    if line.error_kinds:
        message = f": {line.error_message}" if line.error_message else ""
        text = f"errors: {', '.join(map(kind, line.error_kinds))}{one_line(message)}"
        yield click.style(f"  {fit(text, width - 2)}", fg="red")
    for sample in view.samples or ():
        yield f"  {fit(_sample(sample), width - 2)}"


def _sample(sample: SampleLine) -> str:
    """`#2  correct 3, tone 4.5 | the answer`."""
    values = {name: score.value for name, score in sample.scores.items()}
    scores = [f"{clean(name)} {decimal(value, 2)}" for name, value in values.items() if value is not None]
    answer = sample.answer if sample.answer is not None else f"({kind(sample.error_kind or sample.status)})"
    return f"#{sample.sample + 1}  {', '.join(scores) or sample.status} | {one_line(answer)}"


def one_line(text: str) -> str:
    """A text on one line, without control characters."""
    return clean(" ".join(text.split()))
