"""The heat map of a run: groups of its cases by their metadata, times metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from prompt_evaluator.app.serving.changes import baseline_of
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.api import RunPageQuery, SlicesPageQuery
from prompt_evaluator.server.pages.run import run_address
from prompt_evaluator.server.routing import BENCHMARKS, HTML, Page, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")


@ROUTES.add(
    "GET",
    "/runs/{run_id}/slices",
    role="viewer",
    summary="Groups of a run's cases",
    query=SlicesPageQuery,
    media_types=(HTML,),
    answer=str,
)
def show_slices(call: Call[SlicesPageQuery, None]) -> Page:
    site, keys = call.site, call.query.keys
    run = run_answer(site.settings, call.path["run_id"])
    try:
        found, problem = site.pages.slice_map(run, keys), None
    except ConfigurationError as error:
        found, problem, keys = site.pages.slice_map(run), str(error), ()
    kept = urlencode({"keys": keys}, doseq=True)
    file = f"{BENCHMARKS}/runs/{run.id}/export/slices?{kept}{'&' if kept else ''}format="
    return Page(
        "slices.html",
        {
            "run": run,
            "map": found.fitting,
            "left_out": len(found.rows) - len(found.fitting.rows),
            "slices": site.pages.slices(run, keys),
            "all_keys": site.pages.index(run).keys,
            "chosen": keys,
            "problem": problem,
            "baseline": baseline_of(site.settings, run.id),
            "address": run_address(run, RunPageQuery()),
            "file": file,
        },
    )
