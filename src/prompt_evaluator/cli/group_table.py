"""Summary of a group of runs on a terminal: one table of models, datasets and prompts, problems, and notes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from prompt_evaluator.cli.grid import Cell, Column, GridRow, fits, grid, row_labels
from prompt_evaluator.cli.marks import symbol
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.text import SEPARATOR, cells, clean, columns, span, squeeze, wrap
from prompt_evaluator.model.wording import decimal, listed, many, money

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.group import GroupFindings, GroupMetric, Member, MemberFinding

_WIDEST_TEXT, _WIDEST_TITLE = 110, 80
_LONGEST_NAME = 38
"""In a sentence: fits a line of the narrowest terminal."""
_ENDED = ("completed", "partial")
_TWO = 2
_NO_SCORE, _NOT_ASKED = "no score", "not asked"


def print_group(found: GroupFindings) -> None:
    """Print the group's table, below the summaries of its runs."""
    width = columns(sys.stdout)
    print_lines(["", title_line(_title(len(found.members)), width), *group_lines(found, width)])


def _title(runs: int) -> str:
    return "both runs" if runs == _TWO else f"all {runs:,} runs"


def print_title(member: Member) -> None:
    """Print the title of the run's summary."""
    print_lines(["", title_line(f"{member.subject}{SEPARATOR}{member.model}", columns(sys.stdout))])


def title_line(text: str, width: int) -> str:
    """Return a line across the terminal that contains the title."""
    title = f"── {squeeze(clean(text), width - 8)} "
    return click.style(title + "─" * (min(width - 1, _WIDEST_TITLE) - cells(title)), bold=True)


def group_lines(found: GroupFindings, width: int) -> list[str]:
    """Return the table with its headline, problems and notes, in coloured lines narrower than `width`."""
    width -= 1
    parts = (_head(found, width), _table(found, width), _problems(found, width), _notes(found, width))
    lines = [line for part in parts if part for line in (*part, "")]
    return lines[:-1]


def _head(found: GroupFindings, width: int) -> list[str]:
    completed = sum(member.status == "completed" for member in found.members)
    runs = many(len(found.members), "run")
    what = compared(found.prompts, found.models, found.datasets)
    cost = _cost(found.cost, found.unpriced_calls)
    text = f"{what}: {completed:,} of {runs} completed; {cost}, {span(found.seconds)}."
    scored = ["Means with 95 % intervals in brackets."] if found.metrics else []
    return [line for sentence in (text, *scored) for line in wrap(sentence, min(width, _WIDEST_TEXT))]


def compared(prompts: Sequence[str], models: Sequence[str], datasets: Sequence[str]) -> str:
    """Return what the runs of a group are of: `2 prompts with gpt-4o on tea.jsonl`."""
    who, where = _one_or_many(models, "model"), _one_or_many(datasets, "dataset")
    return f"{_one_or_many(prompts, 'prompt')} with {who} on {where}" if prompts else f"{who} on {where}"


def _one_or_many(names: Sequence[str], thing: str) -> str:
    return squeeze(clean(names[0]), _LONGEST_NAME) if len(names) == 1 else many(len(names), thing)


def _table(found: GroupFindings, width: int) -> list[str]:
    """Show models down and datasets across if there are several of both and they fit; otherwise one line per run."""
    if found.metrics and len(found.models) > 1 and len(found.datasets) > 1:
        columns = [Column(dataset) for dataset in found.datasets]
        rows = [row for metric in (*found.metrics, None) for row in _matrix(found, metric)]
        if fits(columns, rows, width):
            return grid(columns, rows, width)
    return _list(found, width)


def _matrix(found: GroupFindings, metric: GroupMetric | None) -> list[GridRow]:
    """Return the section of one metric; for None, of cost and time."""
    by_pair = {(member.model, member.dataset): member for member in found.members}
    section = _metric_title(metric) if metric else "cost and time"
    return [
        GridRow(model, tuple(_cell(by_pair[model, dataset], metric) for dataset in found.datasets), section)
        for model in found.models
    ]


def _list(found: GroupFindings, width: int) -> list[str]:
    labels = row_labels([(member.subject, member.model) for member in found.members])
    titles = [Column(_metric_title(metric)) for metric in found.metrics] or [Column("")]
    rows = []
    for (section, name), member in zip(labels, found.members, strict=True):
        scores = [_cell(member, metric) for metric in found.metrics] or [_state(member)]
        cost = _cost(member.cost, member.unpriced_calls) if member.run_id else ""
        rows.append(GridRow(name, (*scores, Cell(cost), Cell(_time(member))), section))
    return grid([*titles, Column("cost", right=True), Column("time", right=True)], rows, width)


def _cell(member: MemberFinding, metric: GroupMetric | None) -> Cell:
    if metric is None:
        cost = _cost(member.cost, member.unpriced_calls)
        return Cell(f"{cost}, {_time(member)}" if member.run_id else "")
    score = member.scores.get(metric.name)
    if score is None:
        if metric.name in member.skipped:
            return Cell("skipped")
        is_asked = metric.name in member.not_measured or member.status not in _ENDED
        return _state(member) if is_asked else Cell(_NOT_ASKED)
    between = score.no_interval.text if score.no_interval else _interval(score.interval, metric.digits)
    return Cell(f"{decimal(score.mean, metric.digits)} ({between})", score.mark)


def _state(member: MemberFinding) -> Cell:
    """Return what to show instead of a score."""
    return Cell(_NO_SCORE, "warning") if member.status in _ENDED else Cell(member.label, "bad")


def _interval(interval: tuple[float, float] | None, digits: int) -> str:
    return " to ".join(decimal(end, digits) for end in interval or ())


def _metric_title(metric: GroupMetric) -> str:
    low, high = metric.scale
    return f"{clean(metric.name)}, {low:,g} to {high:,g}"


def _cost(cost: float | None, unpriced: int) -> str:
    if cost is None:
        return "cost unknown" if unpriced else "no cost"
    return f"{money(cost)} and more" if unpriced else money(cost)


def _time(member: MemberFinding) -> str:
    return "" if member.seconds is None else span(member.seconds)


def _problems(found: GroupFindings, width: int) -> list[str]:
    """Return what went wrong; the same problem on several datasets or with several prompts is shown once."""
    alike: dict[tuple[str, str, str], list[MemberFinding]] = {}
    for member in found.members:
        if member.reason is not None:
            alike.setdefault((member.model, member.label, member.reason), []).append(member)
    lines: list[str] = []
    for (model, label, reason), members in alike.items():
        where = f"{'with' if found.prompts else 'on'} {listed(member.subject for member in members)}"
        text = " ".join(clean(f"{model} {label} {where}: {reason.rstrip('.')}.").split())
        first, *more = wrap(text, min(width, _WIDEST_TEXT) - 2)
        mark = "bad" if members[0].mark == "good" else members[0].mark  # a bar that was missed
        lines += [f"{symbol(mark)} {first}", *(f"  {line}" for line in more)]
    return lines


def _notes(found: GroupFindings, width: int) -> list[str]:
    texts = [clean(note.text) for note in found.notes]
    return [click.style(line, fg="yellow") for text in texts for line in wrap(text, min(width, _WIDEST_TEXT))]
