"""What every answer says to browsers and caches, whether it is an answer, a refusal or nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from asgi_site import HOST, JSON, Answer, AsgiSite
from entries import each
from route_calls import ROUTES, address, body, is_refusal, title

if TYPE_CHECKING:
    from prompt_evaluator.server.routing import Route

ELSEWHERE = ("GET /nowhere", "GET /api/v1/nowhere", "POST /api/v1/nowhere", "GET /api", "GET //", "GET /assets/")
OTHER_METHODS = ("OPTIONS", "HEAD", "PUT", "TRACE", "CONNECT", "PROPFIND", "get", "X")


def check_headers(answer: Answer) -> None:
    names = [name for name, _ in answer.headers]
    policy = answer.header("content-security-policy") or ""
    assert len(names) == len({*names}), names
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "base-uri 'none'" in policy
    assert "unsafe-" not in policy
    assert "*" not in policy
    assert "http:" not in policy
    assert "https:" not in policy
    assert answer.header("x-content-type-options") == "nosniff"
    assert answer.header("x-frame-options") == "DENY"
    assert answer.header("cross-origin-resource-policy") == "same-origin"
    assert not [name for name in names if name.startswith("access-control-")]
    assert "server" not in names
    assert "x-powered-by" not in names
    assert answer.header("cache-control")


@each("route", [route for route in ROUTES if route.method != "DELETE"], ids=title)
def test_an_answer_has_all_headers_and_no_secrets_for_caches(site: AsgiSite, route: Route) -> None:
    answer = site.send(route.method, address(route, site), body(route, site))

    check_headers(answer)
    assert answer.status in (route.status, 401, 409, 422)
    if not route.path.startswith("/assets/"):
        assert answer.header("cache-control") == "no-store"
    kinds = [kind.partition(";")[0] for kind in route.media_types]
    if answer.status == route.status and answer.body:
        assert (answer.header("content-type") or "").partition(";")[0] in kinds


@each("route", ROUTES, ids=title)
def test_a_refusal_has_all_headers_too(site: AsgiSite, route: Route) -> None:
    for answer in (
        site.ask(route.method, address(route), headers=(("host", "evil.example"),)),
        site.ask(route.method, address(route), headers=(HOST, JSON, JSON)),
        site.send(route.method, f"{address(route)}?no_such_parameter=1"),
    ):
        assert answer.status in (400, 403, 422)
        check_headers(answer)
        assert answer.header("cache-control") == "no-store"


@pytest.mark.parametrize("target", ELSEWHERE)
def test_nothing_is_a_refusal_too(site: AsgiSite, target: str) -> None:
    method, path = target.split()
    answer = site.send(method, path)

    assert answer.status in (404, 405) or (path, answer.status) == ("//", 200)
    assert answer.status == 200 or is_refusal(answer)
    check_headers(answer)


@each("route", ROUTES, ids=title)
def test_another_method_is_refused_and_the_right_ones_are_named(site: AsgiSite, route: Route) -> None:
    taken = {other.method for other in ROUTES if other.path == route.path}
    for method in (other for other in OTHER_METHODS if other not in taken):
        for origin in ((), (("origin", "https://evil.example"),)):
            answer = site.ask(method, address(route), headers=(HOST, *origin))

            check_headers(answer)
            assert is_refusal(answer)
            if not origin or method == "HEAD":
                assert answer.status == 405, method
                assert {*(answer.header("allow") or "").split(", ")} == taken
            else:
                assert answer.status == 403, method
