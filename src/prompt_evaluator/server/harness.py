"""The release harness, from its files: runs, leaderboard, trends, and what its gate says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.evals.gate import GateRequest, preview_release
from prompt_evaluator.app.evals.gate_documents import gate_document
from prompt_evaluator.app.evals.leaderboard import leaderboard
from prompt_evaluator.app.evals.limits import gate_limits
from prompt_evaluator.app.evals.named_runs import HarnessFolder, find_run, list_runs, refuse_files
from prompt_evaluator.app.evals.trends import HarnessTrendQuery, harness_trends
from prompt_evaluator.model.api import Document
from prompt_evaluator.model.api_requests import HarnessGateQuery, HarnessRunQuery, HarnessRunsQuery, HarnessTrendsQuery
from prompt_evaluator.model.harness import HarnessRun
from prompt_evaluator.server.routing import BENCHMARKS, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call
    from prompt_evaluator.server.site import Site

ROUTES = Routes(f"{BENCHMARKS}/harness", "Release harness")
_BASELINES = ("previous", "last-passed", "pinned")


@ROUTES.add(
    "GET",
    "/runs",
    role="viewer",
    summary="List the harness's runs, newest first",
    query=HarnessRunsQuery,
    answer=Document,
)
def runs(call: Call[HarnessRunsQuery, None]) -> Document:
    return {"runs": list_runs(harness_folder(call.site), call.query.limit)}


@ROUTES.add("GET", "/runs/{run_id}", role="viewer", summary="Show a run of the harness", answer=HarnessRun)
def run(call: Call[None, None]) -> HarnessRun:
    return find_run(harness_folder(call.site), known_run(call.site, call.path["run_id"]))


@ROUTES.add(
    "GET",
    "/leaderboard",
    role="viewer",
    summary="Rank the configurations of a run of the harness, by default the latest",
    query=HarnessRunQuery,
    answer=Document,
    errors=(404,),
)
def ranking(call: Call[HarnessRunQuery, None]) -> Document:
    name = call.query.run
    found = leaderboard(harness_folder(call.site), known_run(call.site, name) if name else None)
    return {
        "run_id": found.run.run_id if found else None,
        "timestamp": found.run.timestamp if found else None,
        "leaderboard": found.summaries if found else [],
    }


@ROUTES.add(
    "GET",
    "/trends",
    role="viewer",
    summary="Follow the configurations of the harness over its runs",
    query=HarnessTrendsQuery,
    answer=Document,
)
def trends(call: Call[HarnessTrendsQuery, None]) -> Document:
    asked = call.query
    found = harness_trends(
        harness_folder(call.site), HarnessTrendQuery(asked.config_ids or None, asked.metric, asked.limit)
    )
    document: Document = msgspec.to_builtins(found) if found else {"runs": 0, "configs": []}
    return document


@ROUTES.add(
    "GET",
    "/gate",
    role="viewer",
    summary="What the harness's gate says about its latest run; nothing is recorded",
    query=HarnessGateQuery,
    answer=Document,
    errors=(404, 409),
)
def gate(call: Call[HarnessGateQuery, None]) -> Document:
    asked = call.query
    request = GateRequest(
        folder=harness_folder(call.site),
        limits=gate_limits({}, call.site.settings.environment),
        baseline=asked.baseline if asked.baseline in _BASELINES else known_run(call.site, asked.baseline),
        policy=asked.policy,
    )
    return gate_document(preview_release(request, now()))


def harness_folder(site: Site) -> HarnessFolder:
    """The folder of the project that the server runs in."""
    return HarnessFolder(site.settings.cwd / "evals")


def known_run(site: Site, name: str) -> str:
    """The same name; refused unless a run of the history has this id."""
    refuse_files(harness_folder(site), name)
    return name
