"""What the files of the release harness say: the latest run ranked, its history, the gate and its baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.evals.baseline import show_baseline
from prompt_evaluator.app.evals.gate import preview_release
from prompt_evaluator.app.evals.gate_documents import noise_findings
from prompt_evaluator.app.evals.trends import HarnessTrendQuery, harness_trends
from prompt_evaluator.harness.evaluations import completion_interval
from prompt_evaluator.harness.history import read_history
from prompt_evaluator.harness.results import ranked
from prompt_evaluator.harness.verdicts import read_verdicts
from prompt_evaluator.model.gate_findings import GateFindings
from prompt_evaluator.model.harness import HarnessEvaluation, HarnessRun, HarnessSummary, PinnedBaseline
from prompt_evaluator.model.harness_gate import GateOutcome
from prompt_evaluator.model.harness_trend import HarnessTrends

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.evals.gate import GateRequest
    from prompt_evaluator.app.evals.named_runs import HarnessFolder

_RUNS = 50
"""Of the history, the newest."""
_FILES = ("results/history.json", "results/gate.json", "baseline.json")
Stamps = tuple[tuple[int, ...] | None, ...]


class ConfigFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One configuration of the latest run."""

    summary: HarnessSummary
    model: str | None
    evaluations: tuple[HarnessEvaluation, ...]
    answered: int
    """Samples with a last response."""
    interval: tuple[float, float] | None
    """95 % interval of the completion rate, 0 to 100; None below five tasks."""


class PastRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the history."""

    run_id: str
    timestamp: str
    status: str | None
    synthetic: bool | None
    completion: dict[str, float | None]
    """By configuration, 0 to 100."""
    store_runs: dict[str, str]
    verdict: str | None
    """The last that was recorded."""


class HarnessFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is in the files."""

    run: HarnessRun
    """The latest, without its evaluations."""
    configs: tuple[ConfigFacts, ...]
    """Best first."""
    past: tuple[PastRun, ...]
    """Newest first."""
    more: int
    """Older runs."""
    trends: HarnessTrends | None
    outcome: GateOutcome
    noise: dict[str, GateFindings]
    pinned: PinnedBaseline | None


def file_stamps(folder: HarnessFolder) -> Stamps:
    """Differ if a file was changed."""
    return tuple(_stamp(folder, name) for name in _FILES)


def _stamp(folder: HarnessFolder, name: str) -> tuple[int, ...] | None:
    try:
        found = (folder.path / name).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def read_harness(request: GateRequest, now: str) -> HarnessFacts | None:
    """Read all files; None if there is no run yet.

    Raises:
        ResultsFileError: A file cannot be read.
    """
    folder = request.folder
    history = read_history(folder.results)
    if not len(history):
        return None
    first = max(0, len(history) - _RUNS)
    runs = [history.run(at) for at in range(first, len(history))]
    latest, outcome = runs[-1], preview_release(request, now)
    return HarnessFacts(
        run=msgspec.structs.replace(latest, evaluations=()),
        configs=tuple(_config(each, latest.evaluations) for each in ranked(latest.summaries)),
        past=tuple(_past(folder, runs)),
        more=first,
        trends=harness_trends(folder, HarnessTrendQuery(limit=_RUNS)),
        outcome=outcome,
        noise=noise_findings(outcome),
        pinned=show_baseline(folder),
    )


def _config(summary: HarnessSummary, every: Sequence[HarnessEvaluation]) -> ConfigFacts:
    own = tuple(each for each in every if each.config_id == summary.config_id)
    interval = completion_interval(own)
    return ConfigFacts(
        summary=summary,
        model=next((each.model for each in own if each.model), None),
        evaluations=own,
        answered=sum(each.completion_pass is not None for each in own),
        interval=(100 * interval[0], 100 * interval[1]) if interval else None,
    )


def _past(folder: HarnessFolder, runs: Sequence[HarnessRun]) -> list[PastRun]:
    verdicts = {each.run_id: each.verdict for each in read_verdicts(folder.results)}
    return [
        PastRun(
            run_id=run.run_id,
            timestamp=run.timestamp,
            status=run.status,
            synthetic=run.synthetic,
            completion={each.config_id: each.task_completion_rate for each in run.summaries},
            store_runs=run.store_runs,
            verdict=verdicts.get(run.run_id),
        )
        for run in reversed(runs)
    ]
