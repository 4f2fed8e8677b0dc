"""Output of `evals run --estimate`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from prompt_evaluator.cli.estimate import between, facts, labelled
from prompt_evaluator.cli.grid import GridRow, grid
from prompt_evaluator.cli.group_estimate import AMOUNTS, amount_cells
from prompt_evaluator.cli.output import print_json, print_lines
from prompt_evaluator.cli.text import columns, span, wrap
from prompt_evaluator.model.wording import many

if TYPE_CHECKING:
    from prompt_evaluator.app.group_estimate import GroupEstimate
    from prompt_evaluator.cli.running import RunCommand

_WIDEST_TEXT = 110


def print_harness_estimate(command: RunCommand, estimate: GroupEstimate) -> None:
    """Print what each configuration and all of them together would take."""
    print_json(estimate) if command.as_json else print_lines(estimate_lines(estimate, columns(sys.stdout)))


def estimate_lines(estimate: GroupEstimate, width: int) -> list[str]:
    """Return a line for each configuration and their totals, in lines narrower than `width`."""
    text_width = min(width - 1, _WIDEST_TEXT)
    first = estimate.members[0].estimate
    size = f"{many(first.cases, 'task')} × {many(first.samples, 'sample')}"
    head = f"Estimate for {size} with {many(len(estimate.members), 'configuration')}. No call was made."
    rows = [GridRow(member.model, amount_cells(member)) for member in estimate.members]
    together = facts(estimate) | {"Time": f"{between(estimate.seconds, span)}, one configuration at a time"}
    remark = "Calls that fail and are tried again are not included."
    if estimate.attempts > 1:
        remark += f" Further attempts after bad answers (`retries`) make it up to {estimate.attempts} times as much."
    return [
        *wrap(head, text_width),
        "",
        *grid(AMOUNTS, rows, width - 1),
        "",
        "Total:",
        *labelled(together, text_width),
        "",
        *wrap(remark, text_width),
    ]
