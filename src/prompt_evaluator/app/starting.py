"""What new, resumed and re-scored runs have in common before they are carried out."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.wiring import make_driver
from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import RunRecord
from prompt_evaluator.store.artifacts import RunFolder

if TYPE_CHECKING:
    from prompt_evaluator.app.models import Models
    from prompt_evaluator.app.planning.prepared import Prepared
    from prompt_evaluator.app.session import Session
    from prompt_evaluator.model import ModelConfig, RunPlan
    from prompt_evaluator.model.outcome import Outcome


def asked_models(plan: RunPlan) -> list[ModelConfig]:
    """The models that a run calls: one that judges another's answers has no use for the generator."""
    generator = None if plan.parent_run_id else plan.target
    return [model for model in (generator, plan.judge, *plan.judges.values()) if model]


def check_models(plan: RunPlan, models: Models, session: Session) -> None:
    """Without a key every call would fail: that is said before there is a run."""
    names = [models.name(model.model) for model in asked_models(plan)]
    for name in names:
        models.check(name)
    session.check_budget(names, models)


def create_run(prepared: Prepared, models: Models, session: Session, *, planned: bool = False) -> RunRecord:
    """Keep a new run with its cases, which are read, checked and kept in one pass; or nothing, where one is refused."""
    record = RunRecord(plan=prepared.draft, status="running", started_at=now())
    if planned:  # for others it looks like one that was stopped before its first sample, and can be resumed
        record = msgspec.structs.replace(record, status="aborted", stop_reason="planned, and not begun")

    def finish() -> RunRecord:
        nonlocal record
        plan = prepared.finish()
        check_models(plan, models, session)
        record = msgspec.structs.replace(record, plan=plan)
        RunFolder(record).make_parent()
        return record

    first = list(islice(prepared.cases, 1))  # most of what cannot be read is noticed now, and leaves no store behind
    if not first:
        prepared.finish()
    try:
        session.store.create_run(record, chain(first, prepared.cases), finish=finish)
    except StoreError:
        prepared.finish()  # of two cases with one id the store knows only that; the dataset's reader names their lines
        raise
    return record


async def carry_out(record: RunRecord, models: Models, session: Session, *, retry_errors: bool = False) -> Outcome:
    """Do what is missing of a run that is in the store, and again what failed if so wanted."""
    driver = make_driver(record, models, session, retry_errors=retry_errors)
    if session.on_run:
        session.on_run(driver)
    return await driver.carry_out()
