"""Compared runs on standard output, for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from prompt_evaluator.app.comparison_findings import (
    SHOWN_CASES,
    ComparedRuns,
    findings_of,
    several_findings,
    shown_cases,
)
from prompt_evaluator.cli.command_line import program
from prompt_evaluator.cli.comparison_answers import shown_case_lines
from prompt_evaluator.cli.comparison_view import comparison_lines, next_lines
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.several_view import several_lines
from prompt_evaluator.cli.text import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.compare import OpenComparison


def print_comparisons(
    opened: OpenComparison, compared: ComparedRuns, *, show: int | None = None, below: Sequence[str] = ()
) -> None:
    """Print what the comparisons show.

    Args:
        opened: The comparisons.
        compared: How to name their runs.
        show: How many flipped cases to show with their answers.
        below: Further lines, before what to do next.
    """
    width = columns(sys.stdout)
    most = max(show or 0, SHOWN_CASES)
    known = compared._replace(program=program(), answers_shown=show is not None, most_cases=most)
    found = findings_of(opened.comparisons, known)
    if len(found) == 1:
        steps = found[0].next_steps
        print_lines(comparison_lines(found[0], width))
    else:
        several = several_findings(opened.comparisons, found)
        steps = several.next_steps
        print_lines(several_lines(several, width))
    for comparison, each in zip(opened.comparisons, found, strict=True):
        for case in shown_cases(opened, comparison, each, show) if show else ():
            print_lines(["", *shown_case_lines(case, width)])
    if below:
        print_lines(["", *below])
    print_lines(["", *next_lines(steps, width)])
