"""Styles and scripts of the pages, and the documentation of the API."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from prompt_evaluator.app.serving.chart_figures import NO_CHARTS, chart_script, script_version
from prompt_evaluator.model.api import Document
from prompt_evaluator.server.refusals import Refusal
from prompt_evaluator.server.rendering import asset_versions
from prompt_evaluator.server.routing import API, HTML, Page, Routes, Streamed

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Pages")
_KINDS = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
_FOR_GOOD = (("cache-control", f"public, max-age={365 * 24 * 3600}, immutable"),)
"""The address changes with the content."""


@ROUTES.add(
    "GET",
    "/assets/{version}/{name}",
    role=None,
    summary="Styles and scripts of the pages",
    answer=str,
    media_types=tuple(_KINDS.values()),
)
def asset(call: Call[None, None]) -> Streamed:
    """A file by its name and a hash of its content: a browser keeps it until it changes."""
    name = call.path["name"]
    if name not in asset_versions():
        raise Refusal(404, "There is no such file.")
    content = files("prompt_evaluator.server").joinpath("assets", name).read_bytes()
    kind = _KINDS[name[name.rindex(".") :]]
    return Streamed([content], kind, headers=_FOR_GOOD)


@ROUTES.add(
    "GET",
    "/assets/charts/{version}/vega.js",
    role=None,
    summary="The script that draws charts, if the extra `charts` is installed",
    answer=str,
    media_types=(_KINDS[".js"],),
)
def chart_library(_call: Call[None, None]) -> Streamed:
    """Made by the first request, which takes seconds; then it is kept, here and in browsers."""
    if script_version() is None:
        raise Refusal(404, NO_CHARTS)
    return Streamed([chart_script()], _KINDS[".js"], headers=_FOR_GOOD)


@ROUTES.add("GET", f"{API}/openapi.json", role=None, summary="This API, as an OpenAPI document", answer=Document)
def openapi(call: Call[None, None]) -> Document:
    return call.site.document


@ROUTES.add("GET", f"{API}/docs", role=None, summary="This API, as a page", media_types=(HTML,), answer=str)
def docs(call: Call[None, None]) -> Page:
    return Page("docs.html", {"document": call.site.document})
