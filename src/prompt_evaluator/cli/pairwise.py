"""The part of `compare` that asks a judge which answers are better."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from prompt_evaluator.app.pairwise import PairwiseOptions, compare_pairwise, findings, stored_run_ids
from prompt_evaluator.cli.pairwise_view import pairwise_lines
from prompt_evaluator.cli.running import RunCommand, RunFlags
from prompt_evaluator.cli.text import columns
from prompt_evaluator.model.run_limits import LIMITS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from prompt_evaluator.app.pairwise import PairwiseOutcome
    from prompt_evaluator.model.comparison import Comparison


def run_pairwise(
    comparisons: Sequence[Comparison], given: Mapping[str, Any], config_path: Path | None, *, as_json: bool
) -> JudgedPairs:
    """Ask a judge about every two of the compared runs, with progress and signals as in any other run.

    Args:
        comparisons: The comparisons, which share their baseline.
        given: Values of the flags; see `pairwise_options`.
        config_path: The configuration file, if one was given.
        as_json: Whether only JSON is to be printed.
    """
    limits = {name: given[name] for name in LIMITS}
    flags = RunFlags(limits=limits, as_json=as_json, strict=False, verbose=0, log_file=None)
    runs = stored_run_ids([comparisons[0].baseline, *(comparison.candidate for comparison in comparisons)])
    command = RunCommand(flags, config_path)
    judge = {name: value for name, value in given.items() if name not in LIMITS}
    options = PairwiseOptions(command=command.typed(), **judge)
    return JudgedPairs(command, command.wait_for(compare_pairwise(runs, command.session, options)))


class JudgedPairs:
    """What the judge prefers, ready to be printed."""

    def __init__(self, command: RunCommand, outcome: PairwiseOutcome) -> None:
        self._command, self._outcome = command, outcome
        self.document = {"pairwise": outcome.report}
        """To be added to the comparison's JSON object."""
        self.is_worse = outcome.is_worse

    def lines(self) -> list[str]:
        """What to print, in lines that fit standard output."""
        return pairwise_lines(findings(self._outcome.report), columns(sys.stdout) - 1)

    def conclude(self) -> int:
        """Report runs that were stopped or lack judgements, and return the worst exit code: 0 if all went well."""
        return max((self._command.conclude(each, summary=False) for each in self._outcome.outcomes), default=0)
