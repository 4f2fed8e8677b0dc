"""Turns a route into a handler: who calls, what is asked, the answer, and a line in the audit log."""

from __future__ import annotations

import inspect
import json
import logging
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec
from litestar import Request, Response
from litestar.handlers import HTTPRouteHandler
from litestar.response import Stream

from prompt_evaluator.app.clock import now
from prompt_evaluator.errors import PromptEvaluatorError
from prompt_evaluator.model import REDACTOR
from prompt_evaluator.server.auth import LOCAL, NOBODY, check_role
from prompt_evaluator.server.parsing import read_body, read_query
from prompt_evaluator.server.paths import part
from prompt_evaluator.server.refusals import Refusal, refusal_of
from prompt_evaluator.server.rendering import render
from prompt_evaluator.server.routing import JSON, Call, Created, Page, Streamed
from prompt_evaluator.server.threads import Threads

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prompt_evaluator.server.auth import Caller
    from prompt_evaluator.server.routing import Route
    from prompt_evaluator.server.site import Site

AUDIT = logging.getLogger("prompt_evaluator.audit")
_LOG = logging.getLogger("prompt_evaluator.server")
_PIECE = 65_536
_ENCODING = "; charset=utf-8"
_FAULT = "Something went wrong in the server; its log says what. Nothing was lost."


class Handlers:
    """Makes the handlers of one site."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._threads = Threads()

    def handler(self, route: Route) -> HTTPRouteHandler:
        """The handler of one route."""

        async def answer(request: Request[Any, Any, Any]) -> Response[Any]:
            return await self._answer(route, request)

        return HTTPRouteHandler(
            _with_kinds(route.path),
            http_method=route.method,
            status_code=200,  # each answer says its own
            name=f"{route.method} {route.path}",
            include_in_schema=False,
        )(answer)

    async def _answer(self, route: Route, request: Request[Any, Any, Any]) -> Response[Any]:
        name, call = NOBODY.name, None
        try:
            headers = {key.lower(): value for key, value in request.headers.items()}
            caller = await self._caller(route, headers)
            name = caller.name
            check_role(caller, route.role)
            call = Call(
                site=self._site,
                caller=caller,
                path={key: part(value) for key, value in request.path_params.items()},
                query=read_query(route.query, request.scope["query_string"]),
                body=read_body(route.body, await request.body()) if route.changes else None,
                headers=headers,
            )
            if inspect.iscoroutinefunction(route.run):
                response = _response(route, await route.run(call))
            else:
                response = await self._in_thread(route, request, call)
        except Refusal as refusal:
            response = _refused(route, refusal)
        except PromptEvaluatorError as error:
            response = _refused(route, refusal_of(error, *((call.query, call.body) if call else ())))
        except Exception:  # noqa: BLE001 - a fault in one request must not end the server
            _LOG.exception("%s %s failed", route.method, route.path)
            response = _refused(route, Refusal(500, _FAULT))
        if route.changes and route.audited:
            _audit(name, route, request, response)
        return response

    async def _caller(self, route: Route, headers: dict[str, str]) -> Caller:
        """The sender of a request with these headers. A token is looked up in the store."""
        if not self._site.needs_token:
            return LOCAL
        try:
            found: Caller = await self._threads.look_up(lambda: self._site.caller(headers))
        except (Refusal, PromptEvaluatorError):
            if route.role is not None:
                raise
            return NOBODY  # somebody with an expired cookie must be able to sign in again
        return found

    async def _in_thread(self, route: Route, request: Request[Any, Any, Any], call: Call[Any, Any]) -> Response[Any]:
        def answer() -> Response[Any]:
            return _response(route, route.run(call))

        if route.changes and route.audited:
            return await self._threads.change(answer)
        same = (request.scope["raw_path"], request.scope["query_string"], call.caller)
        return await self._threads.read(same if route.is_shared else request, answer)


def _with_kinds(path: str) -> str:
    """The path as the router wants it: every placeholder is one part of the address, as text."""
    return path.replace("}", ":str}")


def _response(route: Route, made: Any) -> Response[Any]:
    if isinstance(made, Response):
        return made
    if isinstance(made, Streamed):
        return _stream(made)
    if isinstance(made, Page):
        return Response(REDACTOR.text(render(made.template, made.values)), media_type="text/html")
    if isinstance(made, Created):
        return _json(made.value, 201, {"location": made.location})
    if made is None:
        return Response(None, status_code=204)
    return _json(made, route.status)


def _json(value: Any, status: int, headers: dict[str, str] | None = None) -> Response[bytes]:
    body = REDACTOR.json(msgspec.json.encode(value, enc_hook=str))
    return Response(body, status_code=status, media_type=JSON, headers=headers)


def _stream(made: Streamed) -> Stream:
    headers = dict(made.headers)
    if made.filename:
        headers["content-disposition"] = f'attachment; filename="{made.filename}"'
    pieces = made.pieces if hasattr(made.pieces, "__aiter__") else _joined(made.pieces)
    # Litestar adds the encoding of texts by itself.
    return Stream(pieces, media_type=made.media_type.removesuffix(_ENCODING), headers=headers)


def _joined(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Larger pieces: each one is made in a thread."""
    found = bytearray()
    for piece in pieces:
        found += piece
        if len(found) >= _PIECE:
            yield bytes(found)
            found.clear()
    yield bytes(found)


def _refused(route: Route, refusal: Refusal) -> Response[Any]:
    if route.is_page and not route.is_api:
        if refusal.status == HTTPStatus.UNAUTHORIZED:
            return Response(b"", status_code=303, headers={"location": "/sign-in"})
        error = REDACTOR.message(str(refusal))
        page = render("refusal.html", {"status": refusal.status, "error": error})
        return Response(page, status_code=refusal.status, media_type="text/html", headers=refusal.headers)
    return Response(refusal.encoded(), status_code=refusal.status, media_type=JSON, headers=refusal.headers)


def _audit(caller: str, route: Route, request: Request[Any, Any, Any], response: Response[Any]) -> None:
    line = {
        "time": now(),
        "caller": caller,
        "from": request.client.host if request.client else None,
        "method": route.method,
        "path": REDACTOR.text(request.url.path),
        "status": response.status_code,
    }
    AUDIT.info("%s", json.dumps(line))
