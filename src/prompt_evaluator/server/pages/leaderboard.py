"""The page about models: which is best on each dataset, and what does it cost?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.serving.leaderboard_page import leaderboard_page
from prompt_evaluator.model.board_api import LeaderboardPageQuery
from prompt_evaluator.server.boards import addresses, drawing, first_answered
from prompt_evaluator.server.routing import HTML, Page, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")
_LIMIT = 200


@ROUTES.add(
    "GET",
    "/leaderboard",
    role="viewer",
    summary="Models ranked on each dataset",
    query=LeaderboardPageQuery,
    media_types=(HTML,),
    answer=str,
)
def show_leaderboard(call: Call[LeaderboardPageQuery, None]) -> Page:
    wider = msgspec.structs.replace(call.query, metric="")
    found = first_answered(
        (call.query, wider, LeaderboardPageQuery()), lambda query: leaderboard_page(call.site.settings, query)
    )
    return Page(
        "leaderboard.html", {**found._asdict(), "most": _LIMIT, **drawing(), **addresses("/leaderboard", found.query)}
    )
