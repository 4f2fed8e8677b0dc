"""The configurations of the harness's latest run, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.app.evals.named_runs import find_run, latest_run
from prompt_evaluator.harness.results import ranked

if TYPE_CHECKING:
    from prompt_evaluator.app.evals.named_runs import HarnessFolder
    from prompt_evaluator.model.harness import HarnessRun, HarnessSummary


class Leaderboard(NamedTuple):
    """A run and its summaries in order."""

    run: HarnessRun
    summaries: list[HarnessSummary]


def leaderboard(folder: HarnessFolder, name: str | None = None) -> Leaderboard | None:
    """Rank the configurations of a run, by default the newest; None if there are no runs.

    Raises:
        ConfigurationError: There is no run with this name.
        ResultsFileError: The history cannot be read.
    """
    run = latest_run(folder) if name is None else find_run(folder, name)
    return None if run is None else Leaderboard(run, ranked(run.summaries))
