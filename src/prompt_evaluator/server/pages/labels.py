"""Labelling in the browser: one answer of a run after the other, with the judge's opinion hidden until the label."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from prompt_evaluator.app.labelling.agreement import agreement_text
from prompt_evaluator.app.labelling.session import LabelSession
from prompt_evaluator.app.run_queries import whole_id
from prompt_evaluator.app.serving.answer_views import clipped
from prompt_evaluator.app.serving.label_pages import labelled, run_scales, unlabelled
from prompt_evaluator.app.serving.run_answers import run_answer
from prompt_evaluator.model.api_requests import LabelPageQuery
from prompt_evaluator.model.labelling import LabelDraw
from prompt_evaluator.server.routing import HTML, Page, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")
_SHOWN, _FOLDED = 1_200, 20_000
"""Characters of an input or a reference that are shown, and that can be unfolded."""


@ROUTES.add(
    "GET",
    "/runs/{run_id}/label",
    role="labeller",
    summary="Label the answers of a run, one after the other",
    query=LabelPageQuery,
    media_types=(HTML,),
    answer=str,
)
def label_page(call: Call[LabelPageQuery, None]) -> Page:
    site, query = call.site, call.query
    run_id = whole_id(site.settings, call.path["run_id"])
    reviewer = call.caller.name if site.needs_token else query.reviewer.strip()
    values = {
        "run": run_answer(site.settings, run_id),
        "query": query,
        "scales": run_scales(site.settings, run_id),
        "reviewer": reviewer,
        "needs_name": not site.needs_token,
        "session": None,
    }
    if query.metric is None or not reviewer:
        return Page("label-start.html", values)
    asked = LabelDraw(run_id=run_id, metric=query.metric, count=query.count)
    session = LabelSession(site.settings, asked, reviewer)
    values |= {
        "session": session,
        "agreement": agreement_text(session.agreement(), session.scale, session.how),
        "after": labelled(session, query.after, query.sample) if query.after else None,
    }
    drawn = session.next(session.drawn[: query.skip])
    if drawn is None:
        return Page("label-start.html", values)
    shown = unlabelled(site.settings, session, drawn)
    number = max(1, len(shown.case.messages))

    def address(**changes: object) -> str:
        kept = {"metric": query.metric, "reviewer": query.reviewer, "count": query.count, "skip": query.skip}
        return f"/runs/{run_id}/label?{urlencode({**kept, **changes})}"

    more = {
        "shown": shown,
        "next": address(after=drawn.answer.case_id, sample=drawn.answer.sample),
        "skip": address(skip=session.drawn.index(drawn) + 1),
        "clip": lambda text: clipped(text, _SHOWN, _FOLDED // number),
    }
    return Page("label-case.html", {**values, **more})
