"""What new, resumed and re-scored runs have in common before they run."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.wiring import make_driver
from prompt_evaluator.errors import ConfigurationError, StoreError
from prompt_evaluator.model import RunRecord
from prompt_evaluator.model.run import NOT_STARTED
from prompt_evaluator.store.artifacts import RunFolder

if TYPE_CHECKING:
    from prompt_evaluator.app.models import Models
    from prompt_evaluator.app.planning.prepared import Prepared
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import ModelConfig, RunPlan
    from prompt_evaluator.model.outcome import Outcome

Begins = Literal["now", "later", "queued"]


def asked_models(plan: RunPlan) -> list[ModelConfig]:
    """The models that a run calls; a run that judges another run's answers does not call the generator."""
    generator = None if plan.parent_run_id else plan.target
    return [model for model in (generator, plan.judge, *plan.judges.values()) if model]


def check_models(plan: RunPlan, models: Models, session: Session) -> None:
    """Raise an error before the run is created if a model cannot be called, or a limit or the engine cannot be used."""
    names = [models.name(model.model) for model in asked_models(plan)]
    for name in names:
        models.check(name)
    session.check_budget(names, models)
    session.check_engine()


def refuse_pairwise(plan: RunPlan) -> None:
    """Raise an error if a run has no answers of its own to judge or compare, because it compares those of others."""
    if plan.baseline_run_id is not None:
        raise ConfigurationError(
            f"Run {plan.run_id} is a pairwise comparison and has no answers of its own. Name one of the runs that it "
            f"compares: {plan.baseline_run_id} or {plan.parent_run_id}."
        )


def create_run(
    prepared: Prepared,
    models: Models,
    session: Session,
    *,
    begins: Begins = "now",
) -> RunRecord:
    """Store a new run with its cases, which are read, checked and stored in one pass; nothing if a case is invalid.

    Args:
        prepared: The plan so far, and the cases.
        models: The models to call.
        session: The session of the run.
        begins: When the run is to be started: by the caller now or later, or by a worker that takes it.
    """
    record = RunRecord(plan=prepared.draft, status="queued" if begins == "queued" else "running", started_at=now())
    if begins == "later":  # looks like a run that was stopped before its first sample and can be resumed
        record = msgspec.structs.replace(record, status="aborted", stop_reason=NOT_STARTED)

    def finish() -> RunRecord:
        nonlocal record
        plan = prepared.finish()
        check_models(plan, models, session)
        record = msgspec.structs.replace(record, plan=plan)
        RunFolder(record).make_parent()
        return record

    first = list(islice(prepared.cases, 1))  # finds most unreadable datasets before a store is created
    if not first:
        prepared.finish()
    try:
        session.store.create_run(record, chain(first, prepared.cases), finish=finish)
    except StoreError:
        prepared.finish()  # the store reports a duplicate id; the dataset's reader also names the lines
        raise
    return record


async def carry_out(record: RunRecord, models: Models, session: Session, *, retry_errors: bool = False) -> Outcome:
    """Run what is unfinished of a stored run; with `retry_errors`, also retry what failed."""
    driver = make_driver(record, models, session, retry_errors=retry_errors)
    if session.on_run:
        session.on_run(driver)
    return await driver.carry_out()
