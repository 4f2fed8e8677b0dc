"""Signing in and out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from litestar import Response
from litestar.datastructures import Cookie

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.tokens import check_token
from prompt_evaluator.model.api import SignIn
from prompt_evaluator.server.auth import COOKIE
from prompt_evaluator.server.refusals import Refusal
from prompt_evaluator.server.routing import API, HTML, Page, Routes

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Call

ROUTES = Routes("", "Signing in")
_MONTH = 30 * 24 * 3600


@ROUTES.add("GET", "/sign-in", role=None, summary="Where a token is entered", media_types=(HTML,), answer=str)
async def sign_in_page(call: Call[None, None]) -> Page:
    return Page("sign-in.html", {"needed": call.site.needs_token})


@ROUTES.add(
    "POST",
    f"{API}/sign-in",
    role=None,
    summary="Keep a token in a cookie, for a browser",
    body=SignIn,
    status=204,
    errors=(401, 503),
)
def sign_in(call: Call[None, SignIn]) -> Response[None]:
    if check_token(call.site.settings.opened, call.body.token, now=now()) is None:
        raise Refusal(401, "The token is not valid: it may be mistyped, expired or revoked.", "token")
    return _with_cookie(call, call.body.token, _MONTH)


@ROUTES.add("POST", f"{API}/sign-out", role=None, summary="Forget the token in the cookie", status=204)
def sign_out(call: Call[None, None]) -> Response[None]:
    return _with_cookie(call, "", 0)


def _with_cookie(call: Call[Any, Any], value: str, seconds: int) -> Response[None]:
    cookie = Cookie(
        COOKIE, value=value, max_age=seconds, path="/", httponly=True, samesite="strict", secure=call.site.secure
    )
    return Response(None, status_code=204, cookies=[cookie])
