"""Everything that the page of the release harness says: the latest run, the gate, past runs and failing tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.app.evals.gate import judge_release
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.harness.evaluations import completion_interval
from prompt_evaluator.harness.history import read_history
from prompt_evaluator.harness.results import ranked
from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.harness_gate import heading, limit_row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.app.evals.gate import GateRequest
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.harness import HarnessEvaluation, HarnessRun, HarnessSummary
    from prompt_evaluator.model.harness_gate import GateOutcome, MovedRow

_RUNS = 50
"""Of the history, the newest."""
_TASKS = 100
"""Failing tasks that are listed."""


class FailingTask(NamedTuple):
    """A task whose last answers with one configuration are not all good; earlier attempts do not count."""

    config_id: str
    task_id: str
    category: str | None
    samples: int
    missing: int
    """Samples whose last answer misses a required signal."""
    triggered: int
    """Samples whose last answer has a trigger."""
    errors: int
    """Samples without a last answer."""
    run_id: str | None
    """The configuration's run in the store, if it is there."""


class ConfigRow(NamedTuple):
    """One configuration of the latest run."""

    summary: HarnessSummary
    model: str | None
    answered: int
    """Samples with a last answer."""
    interval: tuple[float, float] | None
    """95 % interval of the completion rate, 0 to 100; None below five tasks."""
    run_id: str | None
    failing: int
    """Tasks."""


class HarnessPage(NamedTuple):
    """The page."""

    run: HarnessRun
    outcome: GateOutcome
    """Of the gate, in words that say nothing about where files are."""
    headline: str
    compared: str | None
    """Which runs the gate compared."""
    limits: tuple[MovedRow, ...]
    """What was exceeded comes first."""
    configs: tuple[ConfigRow, ...]
    """Best first."""
    tasks: tuple[FailingTask, ...]
    more_tasks: int
    past: tuple[HarnessRun, ...]
    """Newest first."""
    more_runs: int
    names: tuple[str, ...]
    """The configurations of all these runs, those of the latest first."""
    stored: frozenset[str]
    """Runs of the configurations that are in the store."""


def harness_page(settings: Settings, request: GateRequest, now: str) -> HarnessPage | None:
    """What the page says; None if there is no run yet.

    Raises:
        ResultsFileError: The history cannot be read.
    """
    history = read_history(request.results)
    if not len(history):
        return None
    first = max(0, len(history) - _RUNS)
    past = tuple(history.run(at) for at in range(len(history) - 1, first - 1, -1))
    run = past[0]
    stored = open_store(settings).known_runs([run_id for each in past for run_id in each.store_runs.values()])
    tasks = [task for each in ranked(run.summaries) for task in failing_tasks(run, each.config_id, stored)]
    outcome = _without_folder(judge_release(request, now), settings.cwd)
    moved = sorted(outcome.movements, key=lambda each: not each.exceeded)
    return HarnessPage(
        run=run,
        outcome=outcome,
        headline=gate_headline(outcome),
        compared=heading(outcome),
        limits=tuple(map(limit_row, moved)),
        configs=tuple(_row(each, run, tasks, stored) for each in ranked(run.summaries)),
        tasks=tuple(tasks[:_TASKS]),
        more_tasks=len(tasks[_TASKS:]),
        past=past,
        more_runs=first,
        names=tuple(dict.fromkeys(each.config_id for run in past for each in run.summaries)),
        stored=frozenset(stored),
    )


def failing_tasks(run: HarnessRun, config_id: str, stored: set[str]) -> list[FailingTask]:
    """The tasks that one configuration fails, in the order of the run."""
    by_task: dict[str, list[HarnessEvaluation]] = {}
    for each in run.evaluations:
        if each.config_id == config_id:
            by_task.setdefault(each.task_id, []).append(each)
    found = [
        FailingTask(
            config_id=config_id,
            task_id=task_id,
            category=samples[0].category,
            samples=len(samples),
            missing=sum(each.completion_pass is False for each in samples),
            triggered=sum(map(_ends_with_trigger, samples)),
            errors=sum(each.completion_pass is None for each in samples),
            run_id=_stored(run, config_id, stored),
        )
        for task_id, samples in by_task.items()
    ]
    return [each for each in found if each.missing or each.triggered or each.errors]


def _ends_with_trigger(found: HarnessEvaluation) -> bool:
    """Whether the last answer has a trigger; a file that does not list attempts only says whether any has."""
    return found.attempts[-1].hallucination_incident is True if found.attempts else found.hallucination_incident


def _row(summary: HarnessSummary, run: HarnessRun, tasks: Sequence[FailingTask], stored: set[str]) -> ConfigRow:
    own = [each for each in run.evaluations if each.config_id == summary.config_id]
    interval = completion_interval(own)
    return ConfigRow(
        summary=summary,
        model=next((each.model for each in own if each.model), None),
        answered=sum(each.completion_pass is not None for each in own),
        interval=(100 * interval[0], 100 * interval[1]) if interval else None,
        run_id=_stored(run, summary.config_id, stored),
        failing=sum(each.config_id == summary.config_id for each in tasks),
    )


def _stored(run: HarnessRun, config_id: str, stored: set[str]) -> str | None:
    run_id = run.store_runs.get(config_id)
    return run_id if run_id in stored else None


def gate_headline(outcome: GateOutcome) -> str:
    """The verdict in one sentence."""
    match outcome.verdict:
        case "pass":
            configurations = many(len({each.config_id for each in outcome.movements}), "configuration")
            return f"The gate passes: nothing of {configurations} got worse by more than its limit."
        case "fail":
            return f"The gate fails: {many(len(outcome.reasons), 'metric')} got worse by more than the limit."
        case "skipped":
            return "There is only one run, so the gate has nothing to compare it with."
        case "refused":
            return "The gate has no verdict: these runs cannot be compared."


def _without_folder(outcome: GateOutcome, folder: Path) -> GateOutcome:
    """The same, without where the files are: that is the server's business."""
    texts = {
        field: tuple(text.replace(f"{folder}/", "") for text in getattr(outcome, field))
        for field in ("reasons", "notes")
    }
    return msgspec.structs.replace(outcome, **texts)
