"""The pages about labelling: queues of samples, and one sample after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import msgspec

from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.serving.answer_views import clipped
from prompt_evaluator.app.serving.label_pages import ROWS, labels_page, queue_page, run_labels_page, run_title
from prompt_evaluator.model.label_api import LabelPageQuery
from prompt_evaluator.model.labelling import DRAWN, DRAWS, USUAL_SIZE
from prompt_evaluator.server.routing import BENCHMARKS, HTML, Page, Routes

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")
_DEFAULTS = msgspec.structs.asdict(LabelPageQuery())
_SHOWN, _FOLDED = 1_200, 20_000
"""Characters of an input or a reference that are shown, and that can be unfolded."""


@ROUTES.add(
    "GET", "/labels", role="viewer", summary="Queues of samples to be labelled", media_types=(HTML,), answer=str
)
def show_labels(call: Call[None, None]) -> Page:
    values = {"page": labels_page(call.site.settings), "draws": DRAWN, "may_label": call.caller.may("labeller")}
    return Page("labels.html", {**values, "all_labels": _all_labels})


@ROUTES.add(
    "GET",
    "/labels/{run_id}",
    role="labeller",
    summary="Label the answers of a run",
    query=LabelPageQuery,
    media_types=(HTML,),
    answer=str,
)
def show_run_labels(call: Call[LabelPageQuery, None]) -> Page:
    site, query = call.site, call.query
    run_id = whole_id(site.settings, call.path["run_id"])
    values = {
        "query": query,
        "address": _address(run_id, query),
        "draws": DRAWN,
        "run_title": run_title,
        "reviewer": call.caller.name if site.needs_token else "",
        "all_labels": _all_labels,
    }
    if query.queue is None:
        page = run_labels_page(site.settings, run_id)
        return Page("label-run.html", {**values, "page": page, "draw_names": DRAWS, "usual_size": USUAL_SIZE})
    shown = queue_page(site.settings, run_id, query.queue, query)
    number = max(1, len(shown.shown.case.messages)) if shown.shown else 1
    more = {"page": shown, "rows_at_once": ROWS, "clip": lambda text: clipped(text, _SHOWN, _FOLDED // number)}
    return Page("label-sample.html" if query.view == "sample" else "label-list.html", {**values, **more})


def _all_labels(run_id: str) -> str:
    """Where all labels of a run are."""
    return f"{BENCHMARKS}/labels?{urlencode({'run': run_id, 'limit': 10_000})}"


def _address(run_id: str, query: LabelPageQuery) -> Callable[..., str]:
    def address(**changes: object) -> str:
        """This page with other parameters; the queue and whether the judge is shown are kept."""
        given = {"queue": query.queue, "judge": query.judge, **changes}
        kept = {name: value for name, value in given.items() if value != _DEFAULTS[name]}
        if kept.get("judge"):
            kept["judge"] = 1
        return f"/labels/{run_id}{f'?{urlencode(kept)}' if kept else ''}"

    return address
