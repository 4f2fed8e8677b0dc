"""The part of `compare` that asks a judge which answers are better."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.pairwise import PairwiseOptions, compare_pairwise, findings, stored_run_ids
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.pairwise_view import pairwise_lines
from prompt_evaluator.cli.text import columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.pairwise import PairwiseOutcome
    from prompt_evaluator.cli.running import RunCommand
    from prompt_evaluator.model.comparison import RunFacts


def run_pairwise(runs: Sequence[RunFacts], command: RunCommand, **given: Any) -> PairwiseOutcome:
    """Ask the judge about every two of the runs, with progress and signals as in any other run.

    Args:
        runs: What is known of the runs; each must be in the store.
        command: The command, which has the budget.
        given: `judge_model` and `allow_mock_judge`, as given.
    """
    options = PairwiseOptions(command=command.typed(), **given)
    return command.wait_for(compare_pairwise(stored_run_ids(runs), command.session, options))


def print_pairwise(outcome: PairwiseOutcome) -> None:
    """Print what the judge prefers."""
    print_lines(pairwise_lines(findings(outcome.report), columns(sys.stdout) - 1))


def pairwise_exit_code(outcome: PairwiseOutcome, command: RunCommand) -> int:
    """Report runs that were stopped or lack judgements, and return the worst exit code: 0 if all went well."""
    return max((command.conclude(each, summary=False) for each in outcome.outcomes), default=0)
