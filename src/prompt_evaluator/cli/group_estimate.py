"""Output of `--estimate` for several runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from prompt_evaluator.cli.estimate import between, estimate_text, facts, labelled, remarks
from prompt_evaluator.cli.grid import Cell, Column, GridRow, grid, row_labels
from prompt_evaluator.cli.group_table import compared
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.text import clean, columns, span, tokens, wrap
from prompt_evaluator.model.wording import many, money

if TYPE_CHECKING:
    from prompt_evaluator.app.group_estimate import GroupEstimate, MemberEstimate

_WIDEST_TEXT = 110
AMOUNTS = [Column(title, right=True) for title in ("calls", "tokens", "cost", "time")]


def print_group_estimate(estimate: GroupEstimate) -> None:
    print_lines(group_estimate_lines(estimate, columns(sys.stdout)))


def group_estimate_lines(estimate: GroupEstimate, width: int) -> list[str]:
    """Return a line for each run and their totals; a single run is shown as on its own."""
    first = estimate.members[0].estimate
    if len(estimate.members) == 1:
        return estimate_text(first, width).splitlines()
    labels = row_labels([(member.prompt or member.dataset, member.model) for member in estimate.members])
    rows = [
        GridRow(name, amount_cells(member), section)
        for (section, name), member in zip(labels, estimate.members, strict=True)
    ]
    text_width = min(width - 1, _WIDEST_TEXT)
    together = facts(estimate) | {"Time": f"{between(estimate.seconds, span)}, one run at a time"}
    return [
        *wrap(clean(_head(estimate)), text_width),
        "",
        *grid(AMOUNTS, rows, width - 1),
        "",
        "Total:",
        *labelled(together, text_width),
        "",
        *remarks(estimate, first, text_width),
    ]


def _head(estimate: GroupEstimate) -> str:
    models = list(dict.fromkeys(member.model for member in estimate.members))
    datasets = list(dict.fromkeys(member.dataset for member in estimate.members))
    prompts = list(dict.fromkeys(member.prompt for member in estimate.members if member.prompt is not None))
    what = compared(prompts, models, datasets)
    judges = list(dict.fromkeys(member.estimate.judge for member in estimate.members))
    judge = f", judged by {judges[0]}" if len(judges) == 1 and judges[0] else ""
    return f"Estimate for {many(len(estimate.members), 'run')}: {what}{judge}. No call was made."


def amount_cells(member: MemberEstimate) -> tuple[Cell, ...]:
    """Return what goes below `AMOUNTS`."""
    found = member.estimate
    shown = (
        f"{found.calls:,}",
        between(found.input_tokens + found.output_tokens, tokens),
        "unknown" if found.cost is None else between(found.cost, money),
        between(found.seconds, span),
    )
    return tuple(map(Cell, shown))
