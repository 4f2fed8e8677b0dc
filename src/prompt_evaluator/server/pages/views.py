"""The page of all named views."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.serving.views import list_views
from prompt_evaluator.server.routing import HTML, Page, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")


@ROUTES.add("GET", "/views", role="viewer", summary="Named views", media_types=(HTML,), answer=str)
def show_views(call: Call[None, None]) -> Page:
    return Page("views.html", {"views": list_views(call.site.settings), "may_run": call.caller.may("runner")})
