"""The first page: runs, those in progress, and a form that starts one."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from prompt_evaluator.app.benchmarks import dataset_names
from prompt_evaluator.app.metrics import list_metrics
from prompt_evaluator.app.serving.run_rows import run_table
from prompt_evaluator.app.serving.table_files import run_command
from prompt_evaluator.app.settings import rubric_names
from prompt_evaluator.app.suites import list_suites
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.api import RunTableQuery
from prompt_evaluator.model.case_filter import toggled
from prompt_evaluator.server.routing import BENCHMARKS, HTML, Page, Routes

if TYPE_CHECKING:
    from prompt_evaluator.app.serving.run_rows import RunTable
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")


@cache
def _metric_names() -> tuple[str, ...]:
    """Metrics that can be named. Looking at all of them takes a few milliseconds."""
    return tuple(metric.name for metric in list_metrics() if ":" not in metric.name)


def _suggested(table: RunTable) -> list[str]:
    """Words of the filter that fit what the page shows."""
    models = dict.fromkeys(row.run.model for row in table.rows if row.run.model)
    statuses = dict.fromkeys(row.run.status for row in table.rows)
    return [
        toggled("", f"{key}:{value}")
        for key, values in (("dataset", table.datasets), ("model", models), ("status", statuses))
        for value in values
    ]


@ROUTES.add("GET", "/", role="viewer", summary="The runs", query=RunTableQuery, media_types=(HTML,), answer=str)
def benchmarks(call: Call[RunTableQuery, None]) -> Page:
    settings, query = call.site.settings, call.query
    try:
        table, problem = run_table(settings, query, call.site.problems), None
    except ConfigurationError as error:
        table, problem = run_table(settings, RunTableQuery(), call.site.problems), str(error)

    def address(**changes: object) -> str:
        """This page with other parameters, from its beginning."""
        given = {"q": query.q, "metric": query.metric, "baseline": query.baseline, "sort": query.sort, **changes}
        defaults = {"q": "", "metric": None, "baseline": None, "sort": "age"}
        kept = {name: value for name, value in given.items() if value != defaults.get(name)}
        return f"/?{urlencode(kept)}" if kept else "/"

    return Page(
        "benchmarks.html",
        {
            "table": table,
            "suggestions": [{"word": word} for word in _suggested(table)],
            "query": query,
            "problem": problem,
            "command": run_command(query.q, query.sort),
            "file": f"{BENCHMARKS}/export/runs{address(q='' if problem else query.q, baseline=None, format='')[1:]}",
            "address": address,
            "may_run": call.caller.may("runner"),
            "may_delete": call.caller.may("admin"),
            "datasets": dataset_names(settings),
            "suites": [suite.name for suite in list_suites(settings)],
            "metrics": _metric_names(),
            "rubrics": rubric_names(settings),
            "default_model": settings.value("generator.model"),
        },
    )
