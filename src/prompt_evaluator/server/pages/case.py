"""The page of one case: its input, its samples, and the way to the next case of the same list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec

from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.serving.answer_views import clipped
from prompt_evaluator.app.serving.case_page import List, case_page
from prompt_evaluator.app.serving.case_table import NOT_KNOWN
from prompt_evaluator.app.serving.label_pages import case_labels, run_scales
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.model.case_api import CasePageQuery
from prompt_evaluator.model.case_filter import asks_about_changes
from prompt_evaluator.server.case_facts import case_facts
from prompt_evaluator.server.routing import BENCHMARKS, HTML, Page, Routes
from prompt_evaluator.server.strips import strip

if TYPE_CHECKING:
    from prompt_evaluator.app.serving.case_changes import CaseChanges
    from prompt_evaluator.app.serving.case_page import CasePage
    from prompt_evaluator.server.routing import Call
    from prompt_evaluator.server.site import Site

ROUTES = Routes("", "Pages")
_SHOWN, _FOLDED = 1_200, 20_000
"""Characters of an input or a reference that are shown, and that can be unfolded."""


@ROUTES.add(
    "GET",
    "/runs/{run_id}/cases/{case_id}",
    role="viewer",
    summary="A case with its samples",
    query=CasePageQuery,
    media_types=(HTML,),
    answer=str,
)
def show_case_page(call: Call[CasePageQuery, None]) -> Page:
    query = call.query
    run_id, case_id = whole_id(call.site.settings, call.path["run_id"]), call.path["case_id"]
    document = f"{BENCHMARKS}/runs/{run_id}/cases/{quote(case_id, safe='')}"
    within = List(call.site.orders, _changes(call.site, run_id) if asks_about_changes(query.q) else NOT_KNOWN)
    page = case_page(call.site.settings, run_id, case_id, query, within)
    given = {name: value for name, value in msgspec.structs.asdict(query).items() if value is not None}

    def address(case: str = case_id, **changes: Any) -> str:
        """This page with other parameters, or another case of the same list."""
        kept = given if case == case_id else {name: given[name] for name in ("q", "sort", "view")}
        return f"/runs/{run_id}/cases/{quote(case, safe='')}{_written({**kept, **changes})}"

    def list_address(text: str | None = None) -> str:
        """The list that the reader came from, or another one."""
        kept = {"q": query.q, "sort": query.sort} if text is None else {"q": text}
        return f"/runs/{run_id}{_written(kept)}#cases"

    return Page(
        "case.html",
        {
            "page": page,
            "query": query,
            "address": address,
            "list_address": list_address,
            "document": document,
            "replies": f"{document}/judge-replies",
            "facts": case_facts(page.case, _shown_elsewhere(page)),
            "strip": strip,
            "labels": case_labels(call.site.settings, run_id, case_id),
            "scales": run_scales(call.site.settings, run_id) if call.caller.may("labeller") else (),
            "reviewer": call.caller.name if call.site.needs_token else "",
            "clip": lambda text: clipped(text, _SHOWN, _FOLDED // max(1, len(page.case.messages))),
        },
    )


def _changes(site: Site, run_id: str) -> CaseChanges:
    run = run_answer(site.settings, run_id)
    return (site.quick_changes(run) or site.changes(run_id)).cases


def _written(parameters: dict[str, Any]) -> str:
    """Parameters that are not what they are without being written."""
    defaults = msgspec.structs.asdict(CasePageQuery())
    kept = {name: value for name, value in parameters.items() if value is not None and value != defaults[name]}
    return f"?{urlencode(kept)}" if kept else ""


def _shown_elsewhere(page: CasePage) -> set[str]:
    return {"expected_tools"} if any(card.group.tools for card in page.cards) else set()
