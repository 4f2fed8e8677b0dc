"""A run as files: results, reports, and where its money went."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.cost_analysis import cost_analysis
from prompt_evaluator.app.export import export_run
from prompt_evaluator.app.report_pages import report_page
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.model.api import Document
from prompt_evaluator.model.api_requests import ExportQuery, ReportQuery
from prompt_evaluator.model.cost import CostAnalysis
from prompt_evaluator.server.routing import BENCHMARKS, JSON, Routes, Streamed

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes(BENCHMARKS, "Exports")
_LINES, _CSV, _HTML, _MARKDOWN = "application/jsonl", "text/csv", "text/html", "text/markdown"
_EXPORTS = {"json": JSON, "jsonl": _LINES, "csv": _CSV}
_REPORTS = {"html": _HTML, "markdown": _MARKDOWN, "json": JSON}
_ENDINGS = {"markdown": "md"}


@ROUTES.add(
    "GET", "/runs/{run_id}/cost-analysis", role="viewer", summary="Where the money of a run went", answer=CostAnalysis
)
def costs(call: Call[None, None]) -> CostAnalysis:
    return cost_analysis(call.site.settings, whole_id(call.site.settings, call.path["run_id"]))


@ROUTES.add(
    "GET",
    "/runs/{run_id}/export/results",
    role="viewer",
    summary="All samples of a run, as a file",
    query=ExportQuery,
    answer=Document,
    media_types=tuple(_EXPORTS.values()),
)
def results_file(call: Call[ExportQuery, None]) -> Streamed:
    run_id, kind = whole_id(call.site.settings, call.path["run_id"]), call.query.format
    return Streamed(export_run(call.site.settings, run_id, kind), _EXPORTS[kind], f"{run_id}.{kind}")


@ROUTES.add(
    "GET",
    "/runs/{run_id}/report",
    role="viewer",
    summary="A report on a run, or on a run compared with a baseline",
    query=ReportQuery,
    answer=Document,
    media_types=tuple(_REPORTS.values()),
    errors=(409,),
)
def report(call: Call[ReportQuery, None]) -> Streamed:
    settings, kind = call.site.settings, call.query.format
    names = [call.path["run_id"], *([call.query.against] if call.query.against else ())]
    runs = [whole_id(settings, name) for name in reversed(names)]  # the baseline first
    made = report_page(settings, runs, kind)
    policy = (("content-security-policy", made.policy),) if made.policy else ()
    return Streamed(made.pieces, f"{_REPORTS[kind]}; charset=utf-8", headers=policy)
