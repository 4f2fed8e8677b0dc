"""Finds the last harness run of a folder, to continue it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.evals.parts import ROUTER_VARIABLE, TAG, harness_parts
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.harness.history import read_history
from prompt_evaluator.model.condition import Condition
from prompt_evaluator.model.query import RunQuery

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.app.evals.tasks import Harness
    from prompt_evaluator.app.groups import Part
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.options import EvaluateOptions
    from prompt_evaluator.store import Store

_START_AGAIN = "Restore what it was, or start a new run without --resume."


def unfinished_parts(harness: Harness, options: EvaluateOptions, session: Session) -> tuple[str, Harness, list[Part]]:
    """Return the last run's group, its tasks and configurations, and its parts, of which some may be finished.

    Raises:
        ConfigurationError: There is no run, it is complete, or something that it was made from has changed.
    """
    store = session.store
    plans = _last_group(store, str(harness.folder.resolve()))
    if not plans:
        raise ConfigurationError("There is no harness run to resume. Start one without --resume.")
    first = next(iter(plans.values()))
    if any(run.run_id == first.group_id for run in read_history(harness.results).heads()):
        raise ConfigurationError(
            f"The last harness run, {first.group_id}, is complete. Start a new one without --resume."
        )
    chosen = _same_again(harness, first, store)
    wanted = msgspec.structs.replace(options, num_samples=first.num_samples, output_dir=Path(first.output_dir))
    parts = []
    models = session.models()
    for part in harness_parts(chosen, wanted, session.settings):
        plan = plans.get(part.member.model)
        if plan:
            _refuse_another_model(plan, str(models.name(part.options.generator_model)))
        parts.append(part._replace(run_id=plan.run_id if plan else None))
    return first.group_id, chosen, parts


def _last_group(store: Store, folder: str) -> dict[str, RunPlan]:
    """Return the plans of the newest harness run of a folder, by configuration."""
    for plan in _plans(store, Condition(f"tag.{TAG}", "!=", "null")):
        if plan.harness and plan.harness.folder == folder:
            members = _plans(store, Condition("group_id", "=", plan.group_id))
            return {each.harness.config_id: each for each in members if each.harness}
    return {}


def _plans(store: Store, condition: Condition) -> Iterator[RunPlan]:
    """Yield the plans of the runs that meet a condition, the newest first."""
    cursor = None
    while True:
        page = store.query_runs(RunQuery(where=(condition,), cursor=cursor))
        yield from (store.run(line.run_id).plan for line in page.items)
        if (cursor := page.next) is None:
            return


def _same_again(harness: Harness, plan: RunPlan, store: Store) -> Harness:
    """Choose the configurations and tasks that a run was started with; they must not have changed."""
    part = plan.harness
    assert part is not None  # noqa: S101 - only plans of the harness get here
    entries = {entry.id: entry for entry in harness.entries}
    tasks = {task.id: task for task in harness.tasks}
    for name, before in part.config_hashes.items():
        if name not in entries or entries[name].hash != before:
            raise _changed(f"The configuration {name!r} has", plan)
    wanted = [*store.case_ids(plan.run_id)]
    if gone := next((name for name in wanted if name not in tasks), None):
        raise _changed(f"The task {gone!r} has", plan)
    chosen = harness._replace(
        entries=tuple(entries[name] for name in part.config_hashes), tasks=tuple(tasks[name] for name in wanted)
    )
    if chosen.tasks_hash != part.tasks_hash:
        raise _changed("The tasks have", plan)
    return chosen


def _refuse_another_model(plan: RunPlan, model: str) -> None:
    if plan.target.model != model:
        raise ConfigurationError(
            f"Run {plan.group_id} was started with {plan.target.model} and would now continue with {model}. Set or "
            f"unset {ROUTER_VARIABLE} as it was, or start a new run without --resume."
        )


def _changed(what: str, plan: RunPlan) -> ConfigurationError:
    return ConfigurationError(f"{what} changed since run {plan.group_id} was started. {_START_AGAIN}")
