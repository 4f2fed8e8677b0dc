"""Every route refuses what it must: a new one is checked as soon as it is declared."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec
import number_places
from asgi_site import HOST, JSON, AsgiSite
from bad_numbers import bad_values
from entries import each
from route_calls import CHANGING, ROUTES, WITH_BODY, address, body, is_refusal, title

from prompt_evaluator.server.guard import DEEPEST, LARGEST_BODY

if TYPE_CHECKING:
    from asgi_site import Answer, Headers

    from prompt_evaluator.server.routing import Route

FOREIGN_HOSTS = (
    "evil.example",
    "evil.example:8080",
    "localhost.evil.example",
    "evil.example.localhost",
    "localhost.",
    "localhost.:8080",
    "127.0.0.1.",
    "127.0.0.1.evil.example",
    "127.0.0.2",
    "127.1",
    "0.0.0.0",
    "2130706433",
    "0x7f000001",
    "[::]",
    "[::1]evil.example",
    "[::1].evil.example:80",
    "[::1",
    "::1",
    "::1]",
    "[::1]:",
    "[::1]:8080:8080",
    "[::ffff:127.0.0.1]",
    "[::1%25lo]",
    "localhost:",
    "localhost:http",
    "localhost:8080:8080",
    "localhost:123456",
    "localhost:-1",
    "user@localhost",
    "user:password@localhost:8080",
    "localhost@evil.example",
    "evil.example#@localhost",
    "evil.example/localhost",
    "evil.example?localhost",
    "localhost\\@evil.example",
    "localhost, evil.example",
    "localhost evil.example",
    " localhost",
    "localhost\t",
    "\uff4cocalhost",
    "l\u043ecalhost",
    "localhost%00.evil.example",
    "http://localhost",
    "*",
    "",
)
OWN_HOSTS = (
    "localhost",
    "localhost:1",
    "LOCALHOST:65535",
    "LocalHost",
    "127.0.0.1",
    "127.0.0.1:80",
    "[::1]",
    "[::1]:8",
)
FOREIGN_ORIGINS = (
    "null",
    "",
    "https://evil.example",
    "http://localhost",
    "http://localhost:8081",
    "http://127.0.0.1:8080",
    "http://localhost:8080.evil.example",
    "http://localhost:8080@evil.example",
    "http://evil.example/localhost:8080",
    "http://localhost:8080/",
    "http://user@localhost:8080",
    "http:localhost:8080",
    "//localhost:8080",
    "localhost:8080",
    "file://localhost:8080",
    "chrome-extension://localhost:8080",
    "http://localhost:8080 http://evil.example",
    "http://localhost:8080\t",
)
NOT_JSON_TYPES = (
    "text/plain",
    "text/plain;charset=utf-8",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/json; charset=utf-16",
    "application/json; charset=latin-1",
    "application/json, text/plain",
    "application/jsonp",
    "application/ld+json",
    "application/msgpack",
    "text/json",
    "json",
    "*/*",
)
every_route = each("route", ROUTES, ids=title)
every_change = each("route", CHANGING, ids=title)
every_body = each("route", WITH_BODY, ids=title)


def refused(answer: Answer, status: int, route: Route) -> bool:
    return answer.status == status and status in route.statuses and is_refusal(answer)


def sent(site: AsgiSite, route: Route, content: bytes, *headers: tuple[str, str]) -> Answer:
    given: Headers = (HOST, *headers, ("content-length", str(len(content))))
    return site.ask(route.method, address(route), headers=given, body=content)


def good(site: AsgiSite, route: Route) -> bytes:
    return json.dumps(body(route, site)).encode() if route.body else b""


@every_route
def test_a_foreign_host_is_refused(site: AsgiSite, route: Route) -> None:
    for host in FOREIGN_HOSTS:
        answer = site.ask(route.method, address(route), headers=(("host", host),))

        assert refused(answer, 403, route), host
        assert answer.json["field"] == "Host"


@every_route
def test_a_request_with_two_hosts_or_none_is_refused(site: AsgiSite, route: Route) -> None:
    for headers in ((), (HOST, HOST), (HOST, ("host", "evil.example")), (("host", "evil.example"), HOST)):
        assert refused(site.ask(route.method, address(route), headers=headers), 403, route), headers


def test_loopback_is_answered_by_every_name_and_port(site: AsgiSite) -> None:
    for host in OWN_HOSTS:
        assert site.ask("GET", "/health/live", headers=(("host", host),)).status == 200, host


@every_route
def test_a_header_that_decides_something_is_sent_once(site: AsgiSite, route: Route) -> None:
    for name in ("authorization", "content-type", "content-length", "content-encoding"):
        assert refused(site.ask(route.method, address(route), headers=(HOST, (name, "1"), (name, "1"))), 400, route)


@every_change
def test_a_page_elsewhere_changes_nothing(site: AsgiSite, route: Route) -> None:
    content = good(site, route)
    foreign = [("origin", origin) for origin in FOREIGN_ORIGINS]
    foreign += [("sec-fetch-site", value) for value in ("cross-site", "same-site", "CROSS-SITE", "")]
    for header in foreign:
        assert refused(sent(site, route, content, JSON, header), 403, route), header
    twice = (("origin", "http://localhost:8080"), ("origin", "https://evil.example"))
    assert refused(sent(site, route, content, JSON, *twice), 403, route)


@every_change
def test_a_page_of_this_site_is_not_kept_from_changing_things(site: AsgiSite, route: Route) -> None:
    own = [("origin", "http://localhost:8080"), ("origin", "https://LOCALHOST:8080"), ("sec-fetch-site", "none")]
    for header in own:
        assert sent(site, route, b"[", JSON, header).status == 400, header


@every_change
def test_a_body_that_is_not_json_is_refused_by_its_type(site: AsgiSite, route: Route) -> None:
    content = good(site, route) or b"{}"
    for kind in NOT_JSON_TYPES:
        assert refused(sent(site, route, content, ("content-type", kind)), 415, route), kind
    assert refused(sent(site, route, content), 415, route)
    assert refused(site.ask(route.method, address(route), headers=(HOST,), body=[content]), 415, route)
    for encoding in ("gzip", "br", "deflate", "identity, gzip"):
        assert refused(sent(site, route, content, JSON, ("content-encoding", encoding)), 415, route), encoding


@every_change
def test_a_body_that_is_too_large_is_refused_with_and_without_its_length(site: AsgiSite, route: Route) -> None:
    piece = b" " * 100_000
    chunked = (HOST, JSON, ("transfer-encoding", "chunked"))
    for length in (str(LARGEST_BODY + 1), "9" * 30):
        answer = site.ask(route.method, address(route), headers=(HOST, JSON, ("content-length", length)))
        assert refused(answer, 413, route), length
    whole = [piece] * (LARGEST_BODY // len(piece) + 1)
    assert refused(site.ask(route.method, address(route), headers=chunked, body=whole), 413, route)
    for length in ("-1", "1e3", "x", "٣"):
        answer = site.ask(route.method, address(route), headers=(HOST, JSON, ("content-length", length)))
        assert refused(answer, 400, route), length


@every_change
def test_a_body_that_is_too_deep_or_not_json_is_refused(site: AsgiSite, route: Route) -> None:
    deep = DEEPEST + 1
    for content in (
        b"[" * deep + b"]" * deep,
        b'{"a":' * deep + b"1" + b"}" * deep,
        b"[" * 90_000,
        b"{",
        b"nul",
        b"{'a': 1}",
        b'{"a": NaN}',
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b"\xff\xfe{\x00}\x00",
        b"{} {}",
        b"\x00",
    ):
        assert refused(sent(site, route, content, JSON), 400, route), content[:40]


@every_body
def test_a_field_that_is_unknown_missing_or_wrong_is_named(site: AsgiSite, route: Route) -> None:
    assert route.body is not None
    whole = body(route, site)
    fields = msgspec.structs.fields(route.body)

    answer = sent(site, route, json.dumps({**whole, "no_such_field": 1}).encode(), JSON)
    assert refused(answer, 422, route)
    assert answer.json["field"] == "no_such_field"
    for field in fields:
        answer = sent(site, route, json.dumps({**whole, field.name: [{"a": 1}]}).encode(), JSON)
        assert refused(answer, 422, route), field.name
        assert answer.json["field"].startswith(field.name)
        if field.required:
            left = {name: value for name, value in whole.items() if name != field.name}
            answer = sent(site, route, json.dumps(left).encode(), JSON)
            assert (refused(answer, 422, route), answer.json["field"]) == (True, field.name)
    for content in (b"[]", b'"text"', b"1", b"null"):
        assert refused(sent(site, route, content, JSON), 422, route), content


@every_body
def test_a_number_out_of_bounds_is_refused_with_its_field_and_its_bound(site: AsgiSite, route: Route) -> None:
    assert route.body is not None
    whole = body(route, site)
    for name, bound in number_places.numbers(route.body):
        assert bound
        for text in ("1e999", f"-{'9' * 5_000}", *map(json.dumps, bad_values(bound).values())):
            answer = sent(site, route, _with_text(whole, name, text), JSON)
            assert refused(answer, 422, route), (name, text[:40])
            assert answer.json["field"] == name
            assert answer.json["error"].startswith(f"{name} has to be {bound.words}")


def _with_text(whole: dict[str, Any], name: str, text: str) -> bytes:
    """A body with a number that Python could not write."""
    return json.dumps({**whole, name: "HERE"}).replace('"HERE"', text).encode()


@each("route", [route for route in ROUTES if route.query], ids=title)
def test_a_parameter_out_of_bounds_is_refused_with_its_bound(site: AsgiSite, route: Route) -> None:
    assert route.query is not None
    for name, bound in number_places.numbers(route.query):
        assert bound
        for text in ("1e999", "9" * 5_000, "x", f"{bound.most + 1}", f"{bound.least - 1}"):
            answer = site.send(route.method, f"{address(route)}?{name}={text}")
            assert answer.status == 422, (name, text[:40])
            if route.is_api:
                assert f" has to be {bound.words}" in answer.json["error"]


@every_route
def test_a_parameter_that_is_unknown_or_wrong_is_refused(site: AsgiSite, route: Route) -> None:
    for query in ("no_such_parameter=1", "%ff=1", "a=%ff", "&&=", "=" * 200, "limit=0", "limit=501x", "=1"):
        answer = site.send(route.method, f"{address(route)}?{query}")
        if route.is_api:
            assert refused(answer, 422, route), query
        assert answer.status == 422, query


@each("route", [route for route in ROUTES if route.query], ids=title)
def test_a_parameter_given_twice_is_refused_unless_it_is_a_list(site: AsgiSite, route: Route) -> None:
    assert route.query is not None
    for field in msgspec.structs.fields(route.query):
        if field.default != ():
            answer = site.send(route.method, f"{address(route)}?{field.name}=1&{field.name}=1")
            assert answer.status == 422, field.name


@every_change
def test_a_body_where_none_belongs_is_refused(site: AsgiSite, route: Route) -> None:
    if route.body is None:
        assert refused(sent(site, route, b"{}", JSON), 400, route)
    else:
        assert refused(site.ask(route.method, address(route)), 400, route)


def test_the_check_of_depth_takes_no_longer_for_a_hostile_body(site: AsgiSite) -> None:
    half = LARGEST_BODY // 2 - 2
    for content in (b'"' + b'\\"' * half, b'"' * (2 * half), b"\\" * (2 * half), b"[]" * half, b'"\\' * half):
        answer = site.ask("POST", "/api/v1/benchmarks/runs", headers=(HOST, JSON), body=[content])
        assert answer.status == 400
