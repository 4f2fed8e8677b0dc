"""The tasks of the harness's latest run that failed: what was missing or triggered, and which errors there were."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.harness.evaluations import TRIGGERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from prompt_evaluator.app.serving.harness_files import ConfigFacts
    from prompt_evaluator.model.dataset_api import FailedScore
    from prompt_evaluator.model.harness import HarnessEvaluation
    from prompt_evaluator.store import Store

ROWS = 50
_MOST_REASONS = 6


class TaskCounts(NamedTuple):
    """How many tasks of a configuration have each problem."""

    missing: int
    triggered: int
    errors: int

    @property
    def kinds(self) -> tuple[tuple[str, int], ...]:
        """By the word that lists them."""
        return ("missing", self.missing), ("triggered", self.triggered), ("errors", self.errors)


class FailingTask(NamedTuple):
    """One task with one configuration, over all samples."""

    config_id: str
    task_id: str
    category: str | None
    samples: int
    missing: int
    """Samples whose last response misses a required signal."""
    incidents: int
    """Responses with a trigger, over all attempts."""
    errors: int
    """Samples without a last response."""
    reasons: tuple[str, ...] = ()
    """What was missing or triggered, from the run in the store."""
    run_id: str | None = None
    """The run in the store, if it is there."""


def failing_tasks(config: ConfigFacts) -> list[FailingTask]:
    """The tasks with a problem, in the order of the run."""
    by_task: dict[str, list[HarnessEvaluation]] = {}
    for each in config.evaluations:
        by_task.setdefault(each.task_id, []).append(each)
    found = [_task(config.summary.config_id, task_id, samples) for task_id, samples in by_task.items()]
    return [each for each in found if each.missing or each.incidents or each.errors]


def task_counts(tasks: Iterable[FailingTask]) -> TaskCounts:
    """Count them by problem."""
    every = list(tasks)
    return TaskCounts(*(len(of_kind(every, kind)) for kind in ("missing", "triggered", "errors")))


def of_kind(tasks: Sequence[FailingTask], kind: str) -> list[FailingTask]:
    """Those with one problem, or all."""
    field = {"missing": "missing", "triggered": "incidents", "errors": "errors"}.get(kind)
    return [each for each in tasks if field is None or getattr(each, field)]


def with_reasons(store: Store, tasks: Sequence[FailingTask], runs: dict[str, str]) -> tuple[FailingTask, ...]:
    """The same tasks, with what their runs in the store say.

    Args:
        store: The store.
        tasks: As many as a page shows.
        runs: By configuration, the run that is in the store.
    """
    said: dict[tuple[str, str], list[str]] = {}
    for config_id, run_id in runs.items():
        wanted = [each.task_id for each in tasks if each.config_id == config_id]
        for score in store.failed_scores(run_id, wanted) if wanted else ():
            said.setdefault((config_id, score.case_id), []).append(_reason(score))
    return tuple(
        each._replace(
            reasons=tuple(dict.fromkeys(said.get((each.config_id, each.task_id), ())))[:_MOST_REASONS],
            run_id=runs.get(each.config_id),
        )
        for each in tasks
    )


def _task(config_id: str, task_id: str, samples: Sequence[HarnessEvaluation]) -> FailingTask:
    return FailingTask(
        config_id=config_id,
        task_id=task_id,
        category=samples[0].category,
        samples=len(samples),
        missing=sum(each.completion_pass is False for each in samples),
        incidents=sum(max(each.hallucination_incidents, each.hallucination_incident) for each in samples),
        errors=sum(each.completion_pass is None for each in samples),
    )


def _reason(score: FailedScore) -> str:
    """Such as `missing: 'alpha'`; triggers are what a response should not have."""
    what = score.reason or "did not pass"
    if score.metric == TRIGGERS:
        return f"triggered: {what.removeprefix('found: ')}"
    return what if what.startswith("missing: ") else f"{score.metric}: {what}"
