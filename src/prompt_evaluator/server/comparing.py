"""Runs side by side and over time: compare, rank, follow, decide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.compare import compare_runs
from prompt_evaluator.app.comparison_json import comparison_json
from prompt_evaluator.app.findings import trend_findings
from prompt_evaluator.app.gate import GateRequest, gate_runs, policy_of
from prompt_evaluator.app.leaderboard import leaderboard
from prompt_evaluator.app.row_documents import leaderboard_document
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.serving.board_exports import leaderboard_file, trends_file
from prompt_evaluator.app.serving.changes import RunChanges
from prompt_evaluator.app.trend_documents import trends_document
from prompt_evaluator.app.trends import read_trends
from prompt_evaluator.model.api import ChangeQuery, Document
from prompt_evaluator.model.api_requests import (
    CompareManyRequest,
    CompareRequest,
    GateRunRequest,
    LeaderboardFileRequest,
    LeaderboardRequest,
    TrendsFileQuery,
    TrendsQuery,
)
from prompt_evaluator.model.comparison import CompareOptions
from prompt_evaluator.model.condition import condition
from prompt_evaluator.model.gate import GateResult
from prompt_evaluator.model.leaderboard import LeaderboardQuery
from prompt_evaluator.model.trend import TrendQuery
from prompt_evaluator.server.routing import BENCHMARKS, JSON, Routes, Streamed
from prompt_evaluator.server.tables import TABLES, streamed

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes(BENCHMARKS, "Comparing")
_PROGRAM = ("prompt-evaluator",)
_MOST_EXPORTED = 1_000


@ROUTES.add(
    "POST",
    "/compare",
    role="viewer",
    summary="Compare a run with a baseline, case by case; the same as `compare --json`",
    body=CompareRequest,
    answer=Document,
    errors=(404, 409),
    audited=False,
)
def compare(call: Call[None, CompareRequest]) -> Streamed:
    asked, settings = call.body, call.site.settings
    options = CompareOptions(
        metric_threshold=asked.metric_threshold,
        flag_threshold=asked.flag_threshold,
        allow_different=asked.allow_different,
        slices=asked.slices,
    )
    names = [whole_id(settings, name) for name in (asked.baseline, asked.candidate)]
    return Streamed(comparison_json(compare_runs(settings, names, options)), JSON)


@ROUTES.add(
    "POST",
    "/compare-multi",
    role="viewer",
    summary="Compare several runs with one baseline",
    body=CompareManyRequest,
    answer=Document,
    errors=(404, 409),
    audited=False,
)
def compare_many(call: Call[None, CompareManyRequest]) -> Streamed:
    asked, settings = call.body, call.site.settings
    options = CompareOptions(
        metric_threshold=asked.metric_threshold,
        flag_threshold=asked.flag_threshold,
        allow_different=asked.allow_different,
    )
    names = [whole_id(settings, name) for name in (asked.baseline, *asked.candidates)]
    return Streamed(comparison_json(compare_runs(settings, names, options), as_list=True), JSON)


@ROUTES.add(
    "GET",
    "/leaderboard",
    role="viewer",
    summary="Rank the models of each dataset by comparable runs",
    query=LeaderboardRequest,
    answer=Document,
)
def ranking(call: Call[LeaderboardRequest, None]) -> Document:
    return leaderboard_document(leaderboard(call.site.settings, _ranked(call.query)))


@ROUTES.add(
    "GET",
    "/leaderboard/export",
    role="viewer",
    summary="The same as a file, with a line for each run",
    query=LeaderboardFileRequest,
    answer=Document,
    media_types=TABLES,
)
def ranking_file(call: Call[LeaderboardFileRequest, None]) -> Streamed:
    found = leaderboard(call.site.settings, _ranked(call.query, limit=_MOST_EXPORTED))
    return streamed(leaderboard_file(found), call.query.format, "leaderboard")


def _ranked(asked: LeaderboardRequest, **more: int) -> LeaderboardQuery:
    return LeaderboardQuery(dataset=asked.dataset, metric=asked.metric, **more)


@ROUTES.add(
    "GET",
    "/trends",
    role="viewer",
    summary="Follow the metrics of a dataset over its runs, and say where they changed",
    query=TrendsQuery,
    answer=Document,
)
def trends(call: Call[TrendsQuery, None]) -> Document:
    found = read_trends(call.site.settings, _followed(call.query), call.site.trends.get)
    return trends_document(found, trend_findings(found, program=_PROGRAM) if found else None)


@ROUTES.add(
    "GET",
    "/trends/export",
    role="viewer",
    summary="The same as a file, with a line for each metric of each run",
    query=TrendsFileQuery,
    answer=Document,
    media_types=TABLES,
)
def trend_file(call: Call[TrendsFileQuery, None]) -> Streamed:
    found = read_trends(call.site.settings, _followed(call.query), call.site.trends.get)
    return streamed(trends_file(found), call.query.format, "trends")


def _followed(asked: TrendsQuery) -> TrendQuery:
    return TrendQuery(
        dataset=asked.dataset,
        metric=asked.metric,
        judge=asked.judge,
        model=asked.model,
        where=tuple(map(condition, asked.where)),
        limit=asked.limit,
    )


@ROUTES.add(
    "GET",
    "/runs/{run_id}/change",
    role="viewer",
    summary="How a run changed against the baseline of its dataset, or another run",
    query=ChangeQuery,
    answer=RunChanges,
)
def change(call: Call[ChangeQuery, None]) -> RunChanges:
    settings, asked = call.site.settings, call.query.baseline
    run_id = whole_id(settings, call.path["run_id"])
    return call.site.changes(run_id, whole_id(settings, asked) if asked else None).run


@ROUTES.add(
    "POST",
    "/gate",
    role="runner",
    summary="Decide whether a run may be released, and keep the verdict",
    body=GateRunRequest,
    answer=GateResult,
    errors=(404, 409),
)
def gate(call: Call[None, GateRunRequest]) -> GateResult:
    asked, settings = call.body, call.site.settings
    baseline = whole_id(settings, asked.baseline) if asked.baseline else None
    request = GateRequest(whole_id(settings, asked.run), baseline, policy_of(settings, None), asked.allow_different)
    return gate_runs(settings, request).result
