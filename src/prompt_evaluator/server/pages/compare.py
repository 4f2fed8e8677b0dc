"""The page about compared runs: is the candidate better, and which cases show it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec
from litestar import Response

from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.serving.compare_choice import choice
from prompt_evaluator.app.serving.compare_filter import BOUND_STARTS, bound_words, changed_filter, quoted
from prompt_evaluator.app.serving.compare_matrix import SHOWS
from prompt_evaluator.app.serving.compare_page import Refused, compare_page
from prompt_evaluator.app.serving.label_pages import case_labels, run_scales
from prompt_evaluator.errors import ConfigurationError
from prompt_evaluator.model.api import ComparePageQuery
from prompt_evaluator.server.routing import HTML, Page, Routes

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.app.serving.compare_page import ComparePage
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")
_DEFAULTS = msgspec.structs.asdict(ComparePageQuery())
_FIELDS = ("a_from", "a_to", "b_from", "b_to")
_SUGGESTED = ("failing", "flaky", "flagged", "errors", "text~", "a>=", "a<=", "b>=", "b<=")
_MODES = (("sides", "side by side"), ("inline", "inline"), ("json", "JSON by path"))


@ROUTES.add(
    "GET",
    "/compare",
    role="viewer",
    summary="Compare a run with a baseline, or several",
    query=ComparePageQuery,
    media_types=(HTML,),
    answer=str,
)
def compare(call: Call[ComparePageQuery, None]) -> Page | Response[Any]:
    query = call.query
    if any(getattr(query, name) for name in _FIELDS):
        return Response(None, status_code=303, headers={"location": _with_bounds(query)})
    candidates = [name for name in query.b if name.strip()]
    if not query.a.strip() or not candidates:
        return _choose(call, candidates, None)
    settings, known = call.site.settings, call.site.known(allow_different=query.different)
    run_ids = [whole_id(settings, name) for name in (query.a, *candidates)]
    try:
        found = compare_page(settings, run_ids, query, known)
    except ConfigurationError as error:
        if len(set(run_ids)) == len(run_ids):
            raise
        return _choose(call, candidates, str(error))
    address = _address_of(query, run_ids)
    if isinstance(found, Refused):
        return Page("compare-refused.html", {"refused": found, "address": address})
    values = {
        "page": found,
        "query": query,
        "address": address,
        "filtered": lambda *words: changed_filter(query.q, ("changed:", "metric:"), words),
        "without_bounds": changed_filter(query.q, BOUND_STARTS),
        "quoted": quoted,
        "shows": SHOWS,
        "modes": _MODES,
        "swapped": {"a": run_ids[1], "b": (run_ids[0], *run_ids[2:])},
        "others_of": lambda run_id: tuple(each for each in run_ids[1:] if each != run_id),
        "suggestions": _suggestions(found),
        **_labelling(call, run_ids),
    }
    return Page("compare.html", values)


def _labelling(call: Call[ComparePageQuery, None], run_ids: list[str]) -> dict[str, Any]:
    """What the forms at the answers of a case need."""
    settings, case = call.site.settings, call.query.case
    may_label = bool(case) and call.caller.may("labeller")
    return {
        "labels": [case_labels(settings, run_id, case) if case else {} for run_id in run_ids[:2]],
        "scales": run_scales(settings, run_ids[1]) if may_label else (),
        "reviewer": call.caller.name if call.site.needs_token else "",
    }


def _choose(call: Call[ComparePageQuery, None], candidates: list[str], problem: str | None) -> Page:
    settings, query = call.site.settings, call.query
    baseline = whole_id(settings, query.a) if query.a.strip() else None
    chosen = choice(settings, baseline, [whole_id(settings, name) for name in candidates])
    return Page("compare-choose.html", {"choice": chosen, "problem": problem})


def _with_bounds(query: ComparePageQuery) -> str:
    """The address with the number fields as words of the filter."""
    words = [*bound_words(query.a_from, query.a_to, "a"), *bound_words(query.b_from, query.b_to, "b")]
    changes = dict.fromkeys(_FIELDS, "") | {"q": changed_filter(query.q, BOUND_STARTS, words), "start": 0}
    return _address_of(query, [query.a, *query.b])(**changes) + "#cases"


def _address_of(query: ComparePageQuery, run_ids: list[str]) -> Callable[..., str]:
    """Makes addresses of this page with other parameters."""
    given = msgspec.structs.asdict(query) | {"a": run_ids[0], "b": tuple(run_ids[1:])}

    def address(**changes: object) -> str:
        kept = {name: value for name, value in (given | changes).items() if value != _DEFAULTS[name]}
        if kept.get("different"):
            kept["different"] = 1
        return f"/compare?{urlencode(kept, doseq=True)}"

    return address


def _suggestions(found: ComparePage) -> list[dict[str, object]]:
    """Words for the filter, with how many cases they leave."""
    changed: list[dict[str, object]] = [{"word": chip.filter, "count": chip.number} for chip in found.chips]
    return changed + [{"word": word} for word in _SUGGESTED]
