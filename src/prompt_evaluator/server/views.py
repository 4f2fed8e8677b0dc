"""Named views of the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.serving.views import delete_view, list_views, new_view, rename_view, save_view
from prompt_evaluator.model.api_requests import ViewRequest
from prompt_evaluator.model.view import View
from prompt_evaluator.server.refusals import Refusal
from prompt_evaluator.server.routing import BENCHMARKS, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes(BENCHMARKS, "Views")


class ViewList(msgspec.Struct, frozen=True):
    """All views, sorted by name."""

    views: tuple[View, ...]


@ROUTES.add("GET", "/views", role="viewer", summary="List named views of the dashboard", answer=ViewList)
def views(call: Call[None, None]) -> ViewList:
    return ViewList(list_views(call.site.settings))


@ROUTES.add(
    "PUT",
    "/views",
    role="runner",
    summary="Keep a view under a name, or give one another name",
    body=ViewRequest,
    answer=View,
    errors=(404,),
)
def keep_view(call: Call[None, ViewRequest]) -> View:
    site, asked = call.site, call.body
    if asked.was is not None:
        if asked.address is not None:
            raise Refusal(422, "Give either an address to keep or the name that a view had, not both.", "address")
        return rename_view(site.settings, asked.was, asked.name.strip())
    if asked.address is None:
        raise Refusal(422, "The field 'address' is missing.", "address")
    return save_view(site.settings, new_view(asked.name, asked.address, call.caller.name, site.addresses))


@ROUTES.add("DELETE", "/views/{name}", role="runner", summary="Delete a view", status=204)
def remove_view(call: Call[None, None]) -> None:
    delete_view(call.site.settings, call.path["name"])
