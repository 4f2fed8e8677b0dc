"""The results of a run: cases, one case, events while it is in progress."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anyio import to_thread

from prompt_evaluator.app.row_documents import cases_document, whole_case_document
from prompt_evaluator.app.run_cases import page_of_cases, show_case
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.serving.judge_replies import judge_replies
from prompt_evaluator.app.serving.live import Look
from prompt_evaluator.model.api import Document, ResultsQuery
from prompt_evaluator.model.case_api import JudgeReplies, JudgeRepliesQuery
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.query import CaseNews, CaseQuery
from prompt_evaluator.server.feeds import OVER
from prompt_evaluator.server.routing import BENCHMARKS, EVENTS, Routes, Streamed

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes(BENCHMARKS, "Results")


@ROUTES.add(
    "GET",
    "/runs/{run_id}/results",
    role="viewer",
    summary="List the cases of a run with their scores",
    query=ResultsQuery,
    answer=Document,
)
def list_results(call: Call[ResultsQuery, None]) -> Document:
    asked = call.query
    query = CaseQuery(
        run_id=whole_id(call.site.settings, call.path["run_id"]),
        status=asked.status,
        metrics=tuple(map(condition, asked.score)),
        flags=asked.flag,
        flaky=asked.flaky,
        flagged=asked.flagged,
        failing=asked.failing,
        errors=asked.errors,
        error_kind=asked.error_kind,
        metadata=tuple(map(condition, asked.where)),
        text=asked.text,
        sort=asked.sort.removeprefix("-"),
        descending=asked.sort.startswith("-"),
        limit=asked.limit,
        cursor=asked.cursor,
    )
    order = call.site.order_of(query)
    return cases_document(page_of_cases(call.site.settings, query, samples=asked.samples, order=order))


@ROUTES.add(
    "GET", "/runs/{run_id}/cases/{case_id}", role="viewer", summary="Show a case with its samples", answer=Document
)
def show_one_case(call: Call[None, None]) -> Document:
    settings = call.site.settings
    return whole_case_document(show_case(settings, whole_id(settings, call.path["run_id"]), call.path["case_id"]))


@ROUTES.add(
    "GET",
    "/runs/{run_id}/cases/{case_id}/judge-replies",
    role="viewer",
    summary="What the judges of a case replied, word for word",
    query=JudgeRepliesQuery,
    answer=JudgeReplies,
)
def show_judge_replies(call: Call[JudgeRepliesQuery, None]) -> JudgeReplies:
    settings = call.site.settings
    return judge_replies(
        settings, whole_id(settings, call.path["run_id"]), call.path["case_id"], samples=call.query.sample
    )


@ROUTES.add(
    "GET",
    "/runs/{run_id}/events",
    role="viewer",
    summary="Watch a run: `progress`, `case` and `ended` events, until it has ended",
    answer=(Look, CaseNews),
    media_types=(EVENTS,),
    headers=("Last-Event-ID",),
)
async def watch_run(call: Call[None, None]) -> Streamed | None:
    run_id = await to_thread.run_sync(whole_id, call.site.settings, call.path["run_id"])
    last = call.headers.get("last-event-id")
    if last == OVER:
        return None  # a browser that gets no content does not come again
    return Streamed(call.site.feeds.watch(run_id, last), EVENTS)
