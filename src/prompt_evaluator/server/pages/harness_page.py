"""The page of the release harness: its latest run, what its gate says, past runs, and the tasks that failed."""

from __future__ import annotations

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.evals.gate import GateRequest
from prompt_evaluator.app.evals.limits import gate_limits
from prompt_evaluator.app.serving.harness_page import harness_page
from prompt_evaluator.errors import ResultsFileError
from prompt_evaluator.server.routing import HTML, Call, Page, Routes

ROUTES = Routes("", "Pages")


@ROUTES.add(
    "GET",
    "/harness",
    role="viewer",
    summary="The release harness: latest run, gate and past runs",
    media_types=(HTML,),
    answer=str,
)
def show_harness(call: Call[None, None]) -> Page:
    settings = call.site.settings
    request = GateRequest(settings.cwd / "evals/results", gate_limits({}, settings.environment))
    try:
        page = harness_page(settings, request, now())
    except ResultsFileError as error:
        return Page("harness-empty.html", {"problem": str(error).replace(f"{settings.cwd}/", "")})
    if page is None:
        return Page("harness-empty.html", {"problem": None})
    return Page("harness.html", {"page": page})
