"""The page about runs over time: did a metric change, when, and what else changed there?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.serving.trends_page import NoScores, trends_page
from prompt_evaluator.model.board_api import TrendsPageQuery
from prompt_evaluator.server.bands import band
from prompt_evaluator.server.boards import addresses, drawing, first_answered
from prompt_evaluator.server.routing import HTML, Page, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")
_LIMIT = 500


@ROUTES.add(
    "GET",
    "/trends",
    role="viewer",
    summary="A metric over the runs of a dataset",
    query=TrendsPageQuery,
    media_types=(HTML,),
    answer=str,
)
def show_trends(call: Call[TrendsPageQuery, None]) -> Page:
    query, settings = call.query, call.site.settings
    wider = msgspec.structs.replace(query, metric="", model="", judge="")
    found = first_answered(
        (query, wider, TrendsPageQuery()), lambda asked: trends_page(settings, asked, call.site.trends.get)
    )
    values = {
        **found._asdict(),
        "has_scores": not isinstance(found.page, NoScores),
        "band": band,
        "most": _LIMIT,
        **drawing(),
        **addresses("/trends", found.query),
    }
    return Page("trends.html", values)
