"""Puts the routes together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Litestar, Request, Response
from litestar.exceptions import HTTPException

from prompt_evaluator.server import (
    about,
    catalogue,
    comparing,
    exports,
    labels,
    results,
    runs,
    tables,
)
from prompt_evaluator.server.guard import Guard
from prompt_evaluator.server.handling import Handlers
from prompt_evaluator.server.openapi import openapi_document
from prompt_evaluator.server.pages import (
    assets,
    benchmarks,
    case,
    compare,
    datasets,
    errors,
    harness_page,
    leaderboard,
    run,
    signing,
    slices,
    trends,
)
from prompt_evaluator.server.pages import labels as label_pages
from prompt_evaluator.server.refusals import encoded
from prompt_evaluator.server.rendering import render
from prompt_evaluator.server.routing import JSON

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Route, Routes
    from prompt_evaluator.server.site import Site

RESOURCES: tuple[Routes, ...] = tuple(
    module.ROUTES
    for module in (
        runs,
        results,
        exports,
        tables,
        catalogue,
        comparing,
        labels,
        about,
        signing,
        assets,
        benchmarks,
        run,
        compare,
        leaderboard,
        trends,
        case,
        slices,
        errors,
        datasets,
        harness_page,
        label_pages,
    )
)
"""Every module with routes, in the order in which they are documented."""
_SENTENCES = {
    404: "There is nothing at this address. /api/v1/docs lists all addresses.",
    405: "This address does not take this method. /api/v1/docs lists what it takes.",
}


def all_routes() -> list[Route]:
    """Every route."""
    return [route for resource in RESOURCES for route in resource]


def make_application(site: Site) -> Guard:
    """The whole site, as an ASGI application."""
    site.document = openapi_document(RESOURCES)
    handlers = Handlers(site)
    inner = Litestar(
        [handlers.handler(route) for route in all_routes()],
        openapi_config=None,
        exception_handlers={HTTPException: _not_found, Exception: _not_found},
        on_shutdown=[site.feeds.close],
        logging_config=None,
    )
    return Guard(
        inner,  # type: ignore[arg-type]  # ASGI, in other words for its parts
        site.server.allowed_hosts,
        allows_proxies=site.needs_token,
    )


def _not_found(request: Request[Any, Any, Any], error: Exception) -> Response[Any]:
    """The answer where no route is, to a person as a page: the routes' own errors do not come here."""
    status = error.status_code if isinstance(error, HTTPException) else 500
    sentence = _SENTENCES.get(status, "The request cannot be answered.")
    headers = dict(error.headers or {}) if isinstance(error, HTTPException) else {}
    if "allow" in headers:
        headers["allow"] = ", ".join(sorted({*headers["allow"].split(", ")} - {"OPTIONS"}))
    path = request.scope["path"]
    if "text/html" in request.headers.get("accept", "") and not path.startswith("/api/"):
        page = render("refusal.html", {"status": status, "error": sentence})
        return Response(page, status_code=status, media_type="text/html", headers=headers)
    return Response(encoded(sentence), status_code=status, media_type=JSON, headers=headers)
