"""The page of the release harness: its latest run, its history, what its gate says, and the tasks that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.evals.gate import GateRequest
from prompt_evaluator.app.evals.limits import gate_limits
from prompt_evaluator.app.serving.harness_files import file_stamps, read_harness
from prompt_evaluator.app.serving.harness_markdown import harness_markdown
from prompt_evaluator.app.serving.harness_page import BASELINES, harness_page
from prompt_evaluator.errors import ResultsFileError
from prompt_evaluator.model.dataset_api import HarnessPageQuery
from prompt_evaluator.server.harness import harness_folder, known_run
from prompt_evaluator.server.routing import HTML, Page, Routes

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.app.serving.harness_files import HarnessFacts
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")
_DEFAULTS = msgspec.structs.asdict(HarnessPageQuery())
_DAY = 10
"""Characters of a time: the gate says how many days old a baseline is."""


@ROUTES.add(
    "GET",
    "/harness",
    role="viewer",
    summary="The release harness: latest run, history and gate",
    query=HarnessPageQuery,
    media_types=(HTML,),
    answer=str,
)
def show_harness(call: Call[HarnessPageQuery, None]) -> Page:
    settings, query = call.site.settings, call.query
    try:
        facts = _facts(call)
    except ResultsFileError as error:
        return Page("harness-empty.html", {"problem": str(error).replace(f"{settings.cwd}/", "")})
    if facts is None:
        return Page("harness-empty.html", {"problem": None})
    page = harness_page(settings, facts, query)
    baselines = tuple(dict.fromkeys((*BASELINES, query.baseline)))
    values: dict[str, Any] = {"page": page, "query": query, "address": _address(query), "baselines": baselines}
    return Page("harness.html", {**values, "markdown": harness_markdown(page)})


def _facts(call: Call[HarnessPageQuery, None]) -> HarnessFacts | None:
    """What the files say; read again when one of them changes."""
    site, query, moment = call.site, call.query, now()
    folder = harness_folder(site)
    stamps = file_stamps(folder)
    if stamps[0] is None:
        return None
    request = GateRequest(
        folder=folder,
        limits=gate_limits({}, site.settings.environment),
        baseline=query.baseline if query.baseline in BASELINES else known_run(site, query.baseline),
        policy=query.policy,
    )
    key = (stamps, query.baseline, query.policy, moment[:_DAY])
    return site.harness.get(key, lambda: read_harness(request, moment))


def _address(query: HarnessPageQuery) -> Callable[..., str]:
    """Makes addresses of this page with other parameters."""
    given = msgspec.structs.asdict(query)

    def address(**changes: object) -> str:
        kept = {name: value for name, value in (given | changes).items() if value != _DEFAULTS[name]}
        return f"/harness?{urlencode(kept)}" if kept else "/harness"

    return address
