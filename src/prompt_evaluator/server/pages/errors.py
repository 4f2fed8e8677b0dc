"""Errors by kind and message: of one run, and of recent runs."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from prompt_evaluator.app.serving.case_table import NOT_KNOWN
from prompt_evaluator.app.serving.error_groups import MOST_GROUPS, recent_errors
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.app.serving.table_files import case_command
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.api import ErrorsPageQuery, RunPageQuery
from prompt_evaluator.server.pages.run import case_address, run_address
from prompt_evaluator.server.routing import BENCHMARKS, HTML, Page, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")


@ROUTES.add(
    "GET", "/runs/{run_id}/errors", role="viewer", summary="The errors of a run", media_types=(HTML,), answer=str
)
def run_errors(call: Call[None, None]) -> Page:
    site = call.site
    run = run_answer(site.settings, call.path["run_id"])
    groups = site.pages.errors(run)
    return Page(
        "run_errors.html",
        {
            "run": run,
            "overview": site.pages.overview(run),
            "groups": groups[:MOST_GROUPS],
            "left_out": len(groups[MOST_GROUPS:]),
            "cases": site.pages.counts(run, "errors", NOT_KNOWN).cases,
            "may_run": call.caller.may("runner"),
            "address": run_address(run, RunPageQuery()),
            "case_address": case_address(run, RunPageQuery()),
            "file": f"{BENCHMARKS}/runs/{run.id}/export/errors?format=",
            "command": case_command(run, "errors"),
        },
    )


@ROUTES.add(
    "GET",
    "/errors",
    role="viewer",
    summary="The errors of recent runs",
    query=ErrorsPageQuery,
    media_types=(HTML,),
    answer=str,
)
def errors(call: Call[ErrorsPageQuery, None]) -> Page:
    site, q = call.site, call.query.q
    try:
        found, problem = recent_errors(site.settings, q, site.pages.errors), None
    except ConfigurationError as error:
        found, problem = recent_errors(site.settings, "", site.pages.errors), str(error)
    return Page(
        "errors.html",
        {
            "found": found,
            "groups": found.groups[:MOST_GROUPS],
            "left_out": len(found.groups[MOST_GROUPS:]),
            "q": q,
            "problem": problem,
            "file": f"{BENCHMARKS}/export/errors?{urlencode({'q': '' if problem else q})}&format=",
        },
    )
