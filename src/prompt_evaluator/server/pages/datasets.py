"""Pages about datasets: all that the server knows, and one with its cases, problems and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import msgspec

from prompt_evaluator.app.serving.answer_views import clipped
from prompt_evaluator.app.serving.dataset_list import dataset_list
from prompt_evaluator.app.serving.dataset_markdown import dataset_markdown
from prompt_evaluator.app.serving.dataset_page import dataset_page
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.dataset_api import DatasetPageQuery, DatasetsQuery
from prompt_evaluator.server.case_facts import case_facts
from prompt_evaluator.server.refusals import Refusal
from prompt_evaluator.server.routing import BENCHMARKS, HTML, Page, Routes

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")
_SHOWN, _FOLDED = 1_200, 20_000
"""Characters of an input or a reference that are shown, and that can be unfolded."""


@ROUTES.add(
    "GET", "/datasets", role="viewer", summary="The datasets", query=DatasetsQuery, media_types=(HTML,), answer=str
)
def show_datasets(call: Call[DatasetsQuery, None]) -> Page:
    found = dataset_list(call.site.settings, call.query, call.site.facts)
    values = {"list": found, "query": call.query, "address": _address("/datasets", call.query)}
    return Page("datasets.html", {**values, "may_run": call.caller.may("runner")})


@ROUTES.add(
    "GET",
    "/datasets/{name}",
    role="viewer",
    summary="A dataset with its cases, problems and runs",
    query=DatasetPageQuery,
    media_types=(HTML,),
    answer=str,
)
def show_dataset(call: Call[DatasetPageQuery, None]) -> Page:
    site, name, query = call.site, call.path["name"], call.query
    try:
        page = dataset_page(site.settings, name, query, site.facts, site.datasets)
    except UnknownNameError as error:
        raise Refusal(404, str(error)) from None
    base = f"/datasets/{quote(name, safe='')}"
    address = _address(base, query)
    values: dict[str, Any] = {
        "page": page,
        "query": query,
        "base": base,
        "address": address,
        "markdown": dataset_markdown(page),
        "suggestions": lambda words: [{"word": word} for word in words],
        "may_run": call.caller.may("runner"),
    }
    if page.case:
        number = page.case.number - 1
        values |= {
            "facts": case_facts(page.case.case),
            "list_address": lambda text: f"{address(q=text, start=0, at=None)}#cases",
            "document": f"{BENCHMARKS}{base}/cases?start={number}&limit=1",
            "clip": lambda text: clipped(text, _SHOWN, _FOLDED),
        }
    return Page("dataset.html", values)


def _address(here: str, query: msgspec.Struct) -> Callable[..., str]:
    """Makes addresses of this page with other parameters."""
    given, defaults = (msgspec.structs.asdict(each) for each in (query, type(query)()))

    def address(**changes: object) -> str:
        kept = {name: value for name, value in (given | changes).items() if value != defaults[name]}
        return f"{here}?{urlencode(kept, doseq=True)}" if kept else here

    return address
