"""Tables of the dashboard as files: exactly the rows that the same address shows as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.serving.case_table import NOT_KNOWN
from prompt_evaluator.app.serving.error_groups import recent_errors
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.app.serving.table_files import (
    Which,
    case_file,
    error_file,
    recent_file,
    run_file,
    slice_file,
    written,
)
from prompt_evaluator.model.api import Document
from prompt_evaluator.model.api_requests import (
    CaseFileQuery,
    ErrorFileQuery,
    RecentErrorFileQuery,
    RunFileQuery,
    SliceFileQuery,
)
from prompt_evaluator.model.case_filter import asks_about_changes
from prompt_evaluator.server.routing import BENCHMARKS, Routes, Streamed

if TYPE_CHECKING:
    from prompt_evaluator.app.serving.table_files import TableFile
    from prompt_evaluator.model.api_requests import TableFormat
    from prompt_evaluator.server.routing import Call

ROUTES = Routes(BENCHMARKS, "Tables")
_KINDS = {"csv": "text/csv", "jsonl": "application/jsonl", "markdown": "text/markdown"}
_ENDINGS = {"csv": "csv", "jsonl": "jsonl", "markdown": "md"}
TABLES = tuple(_KINDS.values())
"""Media types of tables."""


@ROUTES.add(
    "GET",
    "/export/runs",
    role="viewer",
    summary="The runs that match a filter, as a table",
    query=RunFileQuery,
    answer=Document,
    media_types=TABLES,
)
def runs(call: Call[RunFileQuery, None]) -> Streamed:
    return streamed(run_file(call.site.settings, call.query, call.site.problems), call.query.format, "runs")


@ROUTES.add(
    "GET",
    "/export/errors",
    role="viewer",
    summary="The errors of recent runs, as a table",
    query=RecentErrorFileQuery,
    answer=Document,
    media_types=TABLES,
)
def errors_of_runs(call: Call[RecentErrorFileQuery, None]) -> Streamed:
    found = recent_errors(call.site.settings, call.query.q, call.site.pages.errors)
    return streamed(recent_file(found), call.query.format, "errors")


@ROUTES.add(
    "GET",
    "/runs/{run_id}/export/cases",
    role="viewer",
    summary="The cases of a run that match a filter, as a table",
    query=CaseFileQuery,
    answer=Document,
    media_types=TABLES,
)
def cases(call: Call[CaseFileQuery, None]) -> Streamed:
    site, query = call.site, call.query
    run = run_answer(site.settings, call.path["run_id"])
    changes = site.changes(run.id).cases if asks_about_changes(query.q) else NOT_KNOWN
    made = case_file(site.settings, run, query, Which(changes, site.order_of))
    return streamed(made, query.format, f"{run.id}-cases")


@ROUTES.add(
    "GET",
    "/runs/{run_id}/export/slices",
    role="viewer",
    summary="Groups of a run's cases by their metadata, as a table",
    query=SliceFileQuery,
    answer=Document,
    media_types=TABLES,
)
def slices(call: Call[SliceFileQuery, None]) -> Streamed:
    run = run_answer(call.site.settings, call.path["run_id"])
    return streamed(slice_file(call.site.pages.slice_map(run, call.query.keys)), call.query.format, f"{run.id}-slices")


@ROUTES.add(
    "GET",
    "/runs/{run_id}/export/errors",
    role="viewer",
    summary="The errors of a run by kind and message, as a table",
    query=ErrorFileQuery,
    answer=Document,
    media_types=TABLES,
)
def errors(call: Call[ErrorFileQuery, None]) -> Streamed:
    run = run_answer(call.site.settings, call.path["run_id"])
    return streamed(error_file(call.site.pages.errors(run)), call.query.format, f"{run.id}-errors")


def streamed(made: TableFile, kind: TableFormat, name: str) -> Streamed:
    """A table as a file of this format."""
    return Streamed(written(made, kind), f"{_KINDS[kind]}; charset=utf-8", f"{name}.{_ENDINGS[kind]}")
