"""Runs the release harness, new or continued, and adds the results to its files."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prompt_evaluator.app.evals.last_run import unfinished_parts
from prompt_evaluator.app.evals.parts import harness_parts
from prompt_evaluator.app.groups import run_group
from prompt_evaluator.app.outcomes import results
from prompt_evaluator.harness.evaluations import completion_interval, evaluations, summary
from prompt_evaluator.harness.results import add_run, check_history
from prompt_evaluator.model.harness import HarnessRun
from prompt_evaluator.stats.intervals import FEWEST_CASES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.app.evals.tasks import Harness
    from prompt_evaluator.app.groups import Part
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.group import Member
    from prompt_evaluator.model.harness import ConfigEntry, HarnessEvaluation
    from prompt_evaluator.model.options import EvaluateOptions

FEWEST_TASKS = FEWEST_CASES
"""With fewer tasks, a completion rate has no interval."""
_FINAL = ("completed", "partial", "failed")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarnessOutcome:
    """How a harness run ended."""

    run: HarnessRun | None
    """None if no configuration was started."""
    members: tuple[Member, ...]
    """One per configuration."""
    results: Path
    is_written: bool
    """Whether the run was added to the files in `results`. One that can be resumed is not."""
    intervals: dict[str, tuple[float, float] | None] = field(default_factory=dict)
    """By configuration, the 95 % interval of the completion rate, 0 to 100; None below five tasks."""


async def run_harness(harness: Harness, options: EvaluateOptions, session: Session) -> HarnessOutcome:
    """Run all chosen tasks with all chosen configurations, and add the results to the harness's files.

    Raises:
        InputError: The history cannot be read. No call was made.
    """
    check_history(harness.results)
    return await _carry_out(harness, harness_parts(harness, options, session.settings), session)


async def resume_harness(harness: Harness, options: EvaluateOptions, session: Session) -> HarnessOutcome:
    """Continue the last harness run of a folder, paying only for what is missing.

    Args:
        harness: All tasks and configurations of the folder.
        options: What all runs have in common. A run keeps its own settings.
        session: The workspace and limits.

    Raises:
        ConfigurationError: There is nothing to continue, or a task or configuration has changed.
    """
    check_history(harness.results)
    group_id, chosen, parts = unfinished_parts(harness, options, session)
    return await _carry_out(chosen, parts, session, group_id=group_id)


async def _carry_out(
    harness: Harness, parts: Sequence[Part], session: Session, *, group_id: str | None = None
) -> HarnessOutcome:
    members = [member async for member in run_group(parts, session, group_id=group_id)]
    return await asyncio.to_thread(_conclude, harness, members, session)


def _conclude(harness: Harness, members: Sequence[Member], session: Session) -> HarnessOutcome:
    """Sum up what is stored, and add it to the harness's files if every configuration has ended."""
    started = {
        entry.id: (entry, member.outcome.record)
        for entry, member in zip(harness.entries, members, strict=True)
        if member.outcome
    }
    if not started:
        return HarnessOutcome(run=None, members=tuple(members), results=harness.results, is_written=False)
    found = {name: _evaluations(entry, record, session) for name, (entry, record) in started.items()}
    run = _run(harness, [*started.values()], found, status=_status(members))
    if is_final := run.status in _FINAL:
        add_run(harness.results, run)
    return HarnessOutcome(
        run=run,
        members=tuple(members),
        results=harness.results,
        is_written=is_final,
        intervals={name: _percent(completion_interval(each)) for name, each in found.items()},
    )


def _evaluations(entry: ConfigEntry, record: RunRecord, session: Session) -> list[HarnessEvaluation]:
    return [each for case in results(session.store, record) for each in evaluations(entry, case)]


def _run(
    harness: Harness,
    started: Sequence[tuple[ConfigEntry, RunRecord]],
    found: dict[str, list[HarnessEvaluation]],
    *,
    status: str,
) -> HarnessRun:
    records = [record for _, record in started]
    return HarnessRun(
        run_id=records[0].plan.group_id,
        timestamp=min(record.started_at for record in records),
        summaries=tuple(summary(entry, found[entry.id], len(harness.tasks)) for entry, _ in started),
        evaluations=tuple(each for of_one in found.values() for each in of_one),
        status=status,
        samples=records[0].plan.num_samples,
        synthetic=any(record.plan.synthetic for record in records),
        tasks_hash=harness.tasks_hash,
        config_hashes={entry.id: entry.hash for entry, _ in started},
        store_runs={entry.id: record.plan.run_id for entry, record in started},
    )


def _status(members: Sequence[Member]) -> str:
    found = {member.outcome.record.status if member.outcome else "aborted" for member in members}
    if not found <= {*_FINAL}:
        return "aborted"
    return found.pop() if len(found) == 1 else "partial"


def _percent(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    return (100 * interval[0], 100 * interval[1]) if interval else None
