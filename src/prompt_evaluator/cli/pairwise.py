"""The part of `compare` that asks a judge which answers are better."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.pairwise import PairwiseOptions, compare_pairwise, findings, stored_run_ids
from prompt_evaluator.cli.output import print_lines
from prompt_evaluator.cli.pairwise_view import pairwise_lines
from prompt_evaluator.cli.running import RunCommand, RunFlags
from prompt_evaluator.cli.text import columns
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from prompt_evaluator.app.pairwise import PairwiseOutcome
    from prompt_evaluator.model.comparison import Comparison


class PairwiseCommand:
    """Asks a judge about every two of the compared runs, with progress and signals as in any other run."""

    def __init__(self, given: Mapping[str, Any], config_path: Path | None, *, as_json: bool) -> None:
        """Prepare the command; `given` are the values of its flags."""
        limits = {name: given[name] for name in LIMITS}
        flags = RunFlags(limits=limits, as_json=as_json, strict=False, verbose=0, log_file=None)
        self._command = RunCommand(flags, config_path)
        self._asked = {name: value for name, value in given.items() if name not in LIMITS}

    def run(self, comparisons: Sequence[Comparison]) -> PairwiseOutcome:
        """Ask about the runs of these comparisons, which share their baseline."""
        runs = [comparisons[0].baseline, *(comparison.candidate for comparison in comparisons)]
        options = PairwiseOptions(command=self._command.typed(), **self._asked)
        return self._command.wait_for(compare_pairwise(stored_run_ids(runs), self._command.session, options))

    def conclude(self, outcome: PairwiseOutcome) -> int:
        """Report runs that were stopped or lack judgements, and return the worst exit code: 0 if all went well."""
        return max((self._command.conclude(each, summary=False) for each in outcome.outcomes), default=0)


def print_pairwise(outcome: PairwiseOutcome) -> None:
    """Print what the judge prefers, below the comparison."""
    print_lines(["", *pairwise_lines(findings(outcome.report), columns(sys.stdout) - 1)])
