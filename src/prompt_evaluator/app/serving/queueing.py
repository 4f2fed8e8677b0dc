"""Asks for runs, and for their end. A worker makes them; everything goes through the store."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.dataset_facts import read_facts
from prompt_evaluator.app.evaluate import plan_evaluation
from prompt_evaluator.app.groups import check_models, estimate_group, with_one_judge
from prompt_evaluator.app.serving.asking import RefusedFieldError, limits_of, read_request
from prompt_evaluator.app.session import Session
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.app.workspace import Workspace
from prompt_evaluator.errors import ConfigurationError, RunBusyError
from prompt_evaluator.model.api import RunSettings
from prompt_evaluator.model.run_limits import RunLimits

if TYPE_CHECKING:
    from prompt_evaluator.app.benchmarks import ReadFacts
    from prompt_evaluator.app.group_estimate import GroupEstimate
    from prompt_evaluator.app.server_settings import ServerSettings
    from prompt_evaluator.app.serving.asking import Asked
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model import RunPlan

CANCELLED = "cancelled"
_ENDED = ("completed", "partial", "failed")


class QueuedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What the queue keeps of a run that is to be made."""

    run_id: str
    limits: RunLimits = RunLimits()
    retry_errors: bool = False
    asked_by: str


class Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """Runs that are queued now."""

    group_id: str
    run_ids: tuple[str, ...]
    in_group: bool


def submit(
    settings: Settings,
    server: ServerSettings,
    request: RunSettings,
    asked_by: str,
    read: ReadFacts = read_facts,
) -> Submitted:
    """Plan the runs of a request, and queue all of them or none.

    Raises:
        ConfigurationError: Something in the request is wrong, a key is missing, or too many runs are waiting.
        InputError: A dataset cannot be used.
    """
    asked = read_request(settings, server, request, read)
    _check_room(settings, server, asked_by, len(asked.parts))
    return asyncio.run(_queued(settings, server, asked, asked_by))


def estimate_request(
    settings: Settings, server: ServerSettings, request: RunSettings, read: ReadFacts = read_facts
) -> GroupEstimate:
    """What the runs of a request would take. Makes no calls and stores nothing; raises as `submit`."""
    asked = read_request(settings, server, request, read)

    async def estimated() -> GroupEstimate:
        async with Workspace(settings) as workspace:
            return await estimate_group(asked.parts, Session(workspace=workspace, limits=asked.limits))

    return asyncio.run(estimated())


def cancel(settings: Settings, run_id: str, asked_by: str) -> None:
    """Stop a run: at once if it waits, within seconds if it is in progress, in whichever process.

    Raises:
        RunBusyError: It has already ended.
    """
    store = open_store(settings)
    full = store.full_id(run_id)
    reason = f"{CANCELLED} by {asked_by}"
    if store.cancel_queued(full, reason, ended_at=now()) or store.request_stop(full, reason):
        return
    raise RunBusyError(f"Run {full} is {store.run(full).status}, so there is nothing to cancel.")


def ask_to_resume(
    settings: Settings, server: ServerSettings, run_id: str, asked_by: str, *, retry_errors: bool = False
) -> None:
    """Queue a run again that was stopped, or with `retry_errors` one that has errors, with the server's limits.

    Raises:
        RunBusyError: It is in progress or waiting, or there is nothing left to do.
    """
    store = open_store(settings)
    record = store.run(run_id)
    full = record.plan.run_id
    if record.status == "queued" or (record.status == "running" and store.owner(full) is not None):
        raise RunBusyError(f"Run {full} is {record.status} already.")
    if record.status in _ENDED and not (retry_errors and store.has_failures(full)):
        hint = "" if retry_errors else " To retry what failed, set retry_errors."
        raise RunBusyError(f"Run {full} is {record.status}, so there is nothing to resume.{hint}")
    limits = limits_of(RunSettings(), server, settings)
    wanted = QueuedRun(run_id=full, limits=limits, retry_errors=retry_errors, asked_by=asked_by)
    store.requeue(full, msgspec.to_builtins(wanted), requested_at=now())


async def _queued(settings: Settings, server: ServerSettings, asked: Asked, asked_by: str) -> Submitted:
    group = str(uuid.uuid4()) if len(asked.parts) > 1 else None
    made: list[str] = []
    async with Workspace(settings) as workspace:
        session = Session(workspace=workspace, limits=asked.limits)
        await check_models(asked.parts, session)
        store = session.store
        try:
            for part in with_one_judge(asked.parts):
                options = msgspec.structs.replace(part.options, group_id=group)
                record = await plan_evaluation(options, session, queued=True)
                made.append(record.plan.run_id)
                _check_size(record.plan, server)
            wanted = [QueuedRun(run_id=run_id, limits=asked.limits, asked_by=asked_by) for run_id in made]
            store.enqueue_all({each.run_id: msgspec.to_builtins(each) for each in wanted}, requested_at=now())
        except BaseException:
            for run_id in made:
                store.cancel_queued(run_id, CANCELLED, ended_at=now())
                store.delete_run(run_id)
            raise
    return Submitted(group_id=group or made[0], run_ids=tuple(made), in_group=asked.in_group)


def _check_size(plan: RunPlan, server: ServerSettings) -> None:
    cases, most = plan.dataset.selected, server.max_cases
    if most is not None and cases > most:
        raise RefusedFieldError(
            "max_cases",
            f"The run has {cases:,} cases, but this server allows {most:,}. Set max_cases to ask for fewer.",
        )


def _check_room(settings: Settings, server: ServerSettings, asked_by: str, count: int) -> None:
    waiting = [row for row in open_store(settings).queue("waiting") if row.request.get("asked_by") == asked_by]
    if len(waiting) + count > server.max_queued:
        raise ConfigurationError(
            f"{len(waiting):,} of your runs are waiting already, and this server allows {server.max_queued:,}. "
            "Wait for some of them to end, or cancel some."
        )
