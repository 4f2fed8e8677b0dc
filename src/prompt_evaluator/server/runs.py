"""Runs: start, list, look at, change and delete them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.app.baselines import pin_baseline, unpin_run
from prompt_evaluator.app.group_estimate import GroupEstimate
from prompt_evaluator.app.run_edits import edit_run
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.serving.once import once
from prompt_evaluator.app.serving.queueing import Submitted, ask_to_resume, cancel, estimate_request, submit
from prompt_evaluator.app.serving.run_answers import group_answer, run_answer, runs_answer
from prompt_evaluator.app.upkeep import delete_run
from prompt_evaluator.model.api import ApiGroup, ApiRun, ApiRunPage, RunChange, RunSettings, RunsQuery
from prompt_evaluator.server.refusals import Refusal
from prompt_evaluator.server.routing import BENCHMARKS, Created, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes(BENCHMARKS, "Runs")
_KEY = "idempotency-key"
_LONGEST_KEY = 200


@ROUTES.add("GET", "/runs", role="viewer", summary="List runs, newest first", query=RunsQuery, answer=ApiRunPage)
def list_runs(call: Call[RunsQuery, None]) -> ApiRunPage:
    return runs_answer(call.site.settings, call.query)


@ROUTES.add(
    "POST",
    "/runs",
    role="runner",
    summary="Start a run, or a group of runs",
    body=RunSettings,
    answer=(ApiRun, ApiGroup),
    status=201,
    headers=("Idempotency-Key",),
    errors=(409,),
)
def start_runs(call: Call[None, RunSettings]) -> Created:
    site = call.site

    def made() -> dict[str, Any]:
        found = msgspec.to_builtins(submit(site.settings, call.limits, call.body, call.caller.name, site.facts))
        site.on_queue()
        return dict(found)

    key = call.headers.get(_KEY)
    if key is not None and not 0 < len(key) <= _LONGEST_KEY:
        raise Refusal(422, f"Idempotency-Key has to have 1 to {_LONGEST_KEY} characters.", "Idempotency-Key")
    sent = made() if key is None else once(site.settings, f"{call.caller.name}:{key}", call.body, made)
    submitted = msgspec.convert(sent, Submitted)
    if submitted.in_group:
        group = group_answer(site.settings, submitted.group_id, submitted.run_ids)
        return Created(group, f"{BENCHMARKS}/runs?group={submitted.group_id}")
    (run_id,) = submitted.run_ids
    return Created(run_answer(site.settings, run_id), f"{BENCHMARKS}/runs/{run_id}")


@ROUTES.add(
    "POST",
    "/estimate",
    role="viewer",
    summary="Estimate calls, tokens, cost and time of a request for runs, without a call",
    body=RunSettings,
    answer=GroupEstimate,
    audited=False,
)
def estimate(call: Call[None, RunSettings]) -> GroupEstimate:
    return estimate_request(call.site.settings, call.limits, call.body, call.site.facts)


@ROUTES.add("GET", "/runs/{run_id}", role="viewer", summary="Show a run", answer=ApiRun)
def show_run(call: Call[None, None]) -> ApiRun:
    return run_answer(call.site.settings, call.path["run_id"])


@ROUTES.add(
    "PATCH",
    "/runs/{run_id}",
    role="runner",
    summary="Cancel or resume a run, tag it, note something, or pin it as a baseline",
    body=RunChange,
    answer=ApiRun,
    errors=(409,),
)
def change_run(call: Call[None, RunChange]) -> ApiRun:
    settings, change = call.site.settings, call.body
    run_id = whole_id(settings, call.path["run_id"])
    if change.retry_errors and change.action != "resume":
        raise Refusal(422, 'retry_errors belongs to `"action": "resume"`.', "retry_errors")
    if change.tags is not None or change.note is not msgspec.UNSET:
        edit_run(settings, run_id, tags=change.tags, note=change.note)
    if change.baseline is False:
        unpin_run(settings, run_id)
    elif change.baseline is not None:
        pin_baseline(settings, run_id, None if change.baseline is True else change.baseline)
    if change.action == "cancel":
        cancel(settings, run_id, call.caller.name)
    elif change.action == "resume":
        ask_to_resume(settings, call.limits, run_id, call.caller.name, retry_errors=change.retry_errors)
        call.site.on_queue()
    return run_answer(settings, run_id)


@ROUTES.add(
    "DELETE",
    "/runs/{run_id}",
    role="admin",
    summary="Delete a run that is neither in progress nor a baseline",
    status=204,
    errors=(409,),
)
def remove_run(call: Call[None, None]) -> None:
    delete_run(call.site.settings, whole_id(call.site.settings, call.path["run_id"]))
