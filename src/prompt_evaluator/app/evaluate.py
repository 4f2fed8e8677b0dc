"""Evaluate a dataset as a new run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.estimate import Workload
from prompt_evaluator.app.planning.earlier_run import with_earlier_run
from prompt_evaluator.app.planning.plans import prepare
from prompt_evaluator.app.starting import asked_models, carry_out, create_run
from prompt_evaluator.datasets import in_memory_cases

if TYPE_CHECKING:
    from prompt_evaluator.app.estimate import Estimate
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import RunRecord, TestCase
    from prompt_evaluator.model.options import EvaluateOptions
    from prompt_evaluator.model.outcome import Outcome


ONE_INPUT = "input"
"""Id of the case of a run on one input."""


def one_input(text: str) -> tuple[TestCase, ...]:
    """Return the cases of a run on one input."""
    return in_memory_cases([{"id": ONE_INPUT, "input": text}])


async def evaluate_dataset(options: EvaluateOptions, session: Session) -> Outcome:
    """Plan a new run and run it."""
    async with session.models() as models:
        prepared = prepare(with_earlier_run(options, session), models, session.settings.rubrics)
        return await carry_out(create_run(prepared, models, session), models, session)


async def plan_evaluation(options: EvaluateOptions, session: Session, *, queued: bool = False) -> RunRecord:
    """Store a new run without starting it. If it could not start, raise the error and store nothing.

    Args:
        options: Options of the run.
        session: Its workspace and limits.
        queued: Whether it waits for a worker, rather than for the rest of its group to be planned.
    """
    async with session.models() as models:
        prepared = prepare(with_earlier_run(options, session), models, session.settings.rubrics)
        return create_run(prepared, models, session, begins="queued" if queued else "later")


async def begin_run(record: RunRecord, session: Session) -> Outcome:
    """Start a run that was planned before."""
    async with session.models() as models:
        record = msgspec.structs.replace(record, status="running", started_at=now(), stop_reason=None)
        return await carry_out(record, models, session)


async def estimate_evaluation(
    options: EvaluateOptions, session: Session, *, written: set[bytes] | None = None
) -> Estimate:
    """Plan a run and estimate what it would take. Makes no calls and stores nothing.

    Args:
        options: Options of the run.
        session: Its workspace and limits.
        written: Names of preparations that judges will have written for earlier runs; this run's own are added.
    """
    async with session.models() as models:
        prepared = prepare(with_earlier_run(options, session), models, session.settings.rubrics)
        workload = Workload(prepared.draft)
        for case in prepared.cases:
            workload.add(case)
        plan = prepared.finish()
        names = {model.model: models.name(model.model) for model in asked_models(plan)}
        prices = {full: models.price(name) for full, name in names.items()}
        wanted = workload.preparations(plan)
        found = workload.estimate(
            plan,
            {full: price for full, price in prices.items() if price is not None},
            {full: models.settings[name.provider].limits for full, name in names.items()},
            written=(written or set()) | _written_before(wanted, session),
        )
        if written is not None:
            written |= wanted
        return found


def _written_before(names: set[bytes], session: Session) -> set[bytes]:
    """Names that the store has from earlier runs. If there is no store yet, none is created."""
    location = session.settings.store
    if not names or (isinstance(location, Path) and not location.exists()):
        return set()
    return set(session.store.prepared(sorted(names)))
