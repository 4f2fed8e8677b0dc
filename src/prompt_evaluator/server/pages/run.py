"""The page of a run: what it found, how to go on, and its cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from prompt_evaluator.app.serving.case_table import NOT_KNOWN, Found, case_table
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.app.serving.run_grid import run_grid
from prompt_evaluator.app.serving.table_files import case_command
from prompt_evaluator.model.api import RunPageQuery
from prompt_evaluator.model.case_filter import asks_about_changes
from prompt_evaluator.server.routing import BENCHMARKS, HTML, Page, Routes

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.api import ApiRun
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")
_DEFAULTS: dict[str, Any] = {"q": "", "sort": "position", "columns": (), "cursor": None, "after": 0}


@ROUTES.add(
    "GET", "/runs/{run_id}", role="viewer", summary="A run", query=RunPageQuery, media_types=(HTML,), answer=str
)
def show_run(call: Call[RunPageQuery, None]) -> Page:
    site, query = call.site, call.query
    run = run_answer(site.settings, call.path["run_id"])
    unfinished = run.status in ("queued", "running")
    pages, changes = site.pages, site.quick_changes(run)
    if changes is None and asks_about_changes(query.q):
        changes = site.changes(run.id)
    case_changes = changes.cases if changes else NOT_KNOWN
    return Page(
        "run.html",
        {
            "run": run,
            "overview": pages.overview(run),
            "changes": changes.run if changes else None,
            "slices": () if unfinished else pages.quick_slices(run),
            "grid": run_grid(site.settings, run.id) if unfinished else None,
            "table": case_table(
                site.settings,
                run,
                query,
                pages.index(run),
                Found(lambda text: pages.counts(run, text, case_changes), case_changes, site.order_of),
            ),
            "query": query,
            "address": run_address(run, query),
            "case_address": case_address(run, query),
            "command": case_command(run, query.q),
            "file": _file(run, query),
            "may_label": call.caller.may("labeller"),
            "may_run": call.caller.may("runner"),
            "may_delete": call.caller.may("admin"),
        },
    )


def run_address(run: ApiRun, query: RunPageQuery) -> Callable[..., str]:
    """Makes addresses of the page of a run, as the query has it but for what is given."""

    def address(**changes: object) -> str:
        """This page with other parameters, from its beginning."""
        given = {"q": query.q, "sort": query.sort, "columns": query.columns, **changes}
        kept = {name: value for name, value in given.items() if value != _DEFAULTS[name]}
        here = f"/runs/{run.id}"
        return f"{here}?{urlencode(kept, doseq=True)}" if kept else here

    return address


def _file(run: ApiRun, query: RunPageQuery) -> str:
    """Where the same cases are as a file; its format is added."""
    given = {"q": query.q, "sort": query.sort, "columns": query.columns}
    kept = {name: value for name, value in given.items() if value != _DEFAULTS[name]}
    return f"{BENCHMARKS}/runs/{run.id}/export/cases?{urlencode({**kept, 'format': ''}, doseq=True)}"


def case_address(run: ApiRun, query: RunPageQuery) -> Callable[..., str]:
    """Makes addresses of the pages of its cases."""
    kept = {name: value for name, value in (("q", query.q), ("sort", query.sort)) if value != _DEFAULTS[name]}
    within = f"?{urlencode(kept)}" if kept else ""

    def address(case_id: str, *, alone: bool = False) -> str:
        """The page of a case, within the filter of this one unless it is looked at alone."""
        return f"/runs/{run.id}/cases/{quote(case_id, safe='')}{'' if alone else within}"

    return address
