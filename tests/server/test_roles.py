"""Who may do what: each role on each route, with a token in a header or in a cookie."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, NamedTuple

import pytest
from asgi_site import AsgiSite, asgi_site, said
from entries import each
from route_calls import CHANGING, MISSING, ROUTES, address, body, is_refusal, title

from prompt_evaluator.app.clock import now
from prompt_evaluator.app.tokens import create_token, revoke_token
from prompt_evaluator.model.token import ROLES, allows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from prompt_evaluator.model.token import Role
    from prompt_evaluator.server.routing import Route

COOKIE = "prompt_evaluator_token"
every_route = each("route", ROUTES, ids=title)


class Guarded(NamedTuple):
    """A site that others can reach, and the tokens for it."""

    site: AsgiSite
    tokens: dict[Role, str]
    """By role."""
    useless: dict[str, str]
    """By what is wrong with them."""


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    with asgi_site(tmp_path_factory.mktemp("guarded"), host="0.0.0.0") as site:
        tokens = {role: said("token", "create", f"the {role}", "--role", role).strip() for role in ROLES}
        yield Guarded(site, tokens, _useless(site, tokens["admin"]))


def _useless(site: AsgiSite, good: str) -> dict[str, str]:
    settings = site.site.settings
    expired = create_token(settings, "expired", "admin", now="2020-01-01T00:00:00.000Z", expires="1h")
    revoked = create_token(settings, "revoked", "admin", now=now())
    revoke_token(settings, "revoked", now=now())
    start, ident, secret = good.split("_", 2)
    return {
        "expired": expired.text.reveal(),
        "revoked": revoked.text.reveal(),
        "another id": f"{start}_00000000_{secret}",
        "another secret": f"{start}_{ident}_{secret[::-1]}",
        "cut": good[:-1],
        "longer": f"{good}x",
        "upper case": good.upper(),
        "in quotes": f'"{good}"',
        "twice": f"{good} {good}",
        "with a zero byte": f"{good}\x00",
        "not ASCII": "pe_\u0660\u0661\u0662\u0663\u0664\u0665\u0666\u0667_" + "x" * 43,
        "SQL": "pe_' OR 1=1 --",
        "long": "x" * 20_000,
        "empty": "",
    }


def sent_by(token: str) -> tuple[tuple[str, str], ...]:
    return ("authorization", f"Bearer {token}"), ("cookie", f"{COOKIE}={token}")


@every_route
def test_each_role_may_do_what_its_routes_say_and_nothing_else(guarded: Guarded, route: Route) -> None:
    for role, token in guarded.tokens.items():
        for header in sent_by(token):
            # Nothing changes: the run does not exist, or there is no body where one is needed.
            answer = guarded.site.send(route.method, address(route), headers=(header,))

            if route.role is None or allows(role, route.role):
                assert answer.status not in (401, 403, 303), (role, header[0])
            elif route.is_page:
                assert (answer.status, f"the role {route.role}" in answer.body.decode()) == (403, True), role
            else:
                assert (answer.status, answer.json["field"]) == (403, "Authorization"), role
                assert is_refusal(answer)


@every_route
def test_without_a_valid_token_nothing_is_answered_that_needs_one(guarded: Guarded, route: Route) -> None:
    wrong = [header for token in guarded.useless.values() for header in sent_by(token)]
    good = guarded.tokens["admin"]
    forms = [
        ("authorization", text) for text in ("Bearer", f"Basic {good}", good, f"Token {good}", f"Bearer{good}", "")
    ]
    others = [
        ("cookie", text) for text in ("", f"other={good}", COOKIE, f"{COOKIE.upper()}={good}", f"x{COOKIE}={good}")
    ]
    for header in [None, *wrong, *forms, *others]:
        answer = guarded.site.send(route.method, address(route), headers=(header,) if header else ())

        if route.role is None:
            assert answer.status not in (401, 403, 303), header
        elif route.is_api or not route.media_types[0].startswith("text/html"):
            assert (answer.status, answer.header("www-authenticate")) == (401, "Bearer"), header
            assert is_refusal(answer)
        else:
            assert (answer.status, answer.header("location"), answer.body) == (303, "/sign-in", b""), header


@every_route
def test_a_wrong_token_is_not_made_up_for_by_a_right_cookie(guarded: Guarded, route: Route) -> None:
    right = ("cookie", f"{COOKIE}={guarded.tokens['admin']}")
    answer = guarded.site.send(route.method, address(route), headers=(("authorization", "Bearer x"), right))

    assert route.role is None or answer.status in (401, 303)


def test_a_cookie_is_found_among_those_of_other_programs_on_the_same_machine(guarded: Guarded) -> None:
    token = guarded.tokens["viewer"]
    for around in ('a={"x": [1]}; {}; b=2', "a b c; {}", '"; {}', "x=1;{};y=\xe9", "=; {} "):
        cookie = around.replace("{}", f"{COOKIE}={token}")
        answer = guarded.site.send("GET", "/api/v1/benchmarks/runs", headers=(("cookie", cookie),))

        assert answer.status == 200, around


def test_somebody_whose_cookie_has_expired_can_sign_in_again(guarded: Guarded) -> None:
    old = ("cookie", f"{COOKIE}={guarded.useless['expired']}")

    assert guarded.site.send("GET", "/", headers=(old,)).header("location") == "/sign-in"
    assert guarded.site.send("GET", "/sign-in", headers=(old,)).status == 200
    assert guarded.site.send("GET", "/assets/1/site.css", headers=(old,)).status == 200
    token = {"token": guarded.tokens["viewer"]}
    assert guarded.site.send("POST", "/api/v1/sign-in", token, headers=(old,)).status == 204


def test_signing_in_keeps_the_token_where_no_script_and_no_other_site_gets_it(guarded: Guarded) -> None:
    token = guarded.tokens["viewer"]
    answer = guarded.site.send("POST", "/api/v1/sign-in", {"token": token})

    first, *attributes = (answer.header("set-cookie") or "").split("; ")
    assert (answer.status, first) == (204, f"{COOKIE}={token}")
    assert {attribute.lower().partition("=")[0] for attribute in attributes} == {
        "httponly",
        "max-age",
        "path",
        "samesite",
    }
    assert {"httponly", "samesite=strict", "path=/"} <= {attribute.lower() for attribute in attributes}
    runs = guarded.site.send("GET", "/api/v1/benchmarks/runs", headers=(("cookie", first),))
    assert runs.status == 200


def test_signing_in_with_a_token_that_is_not_valid_is_refused_and_sets_nothing(guarded: Guarded) -> None:
    for wrong, token in guarded.useless.items():
        answer = guarded.site.send("POST", "/api/v1/sign-in", {"token": token})

        assert answer.status == (422 if wrong in ("empty", "long") else 401), wrong
        assert answer.json["field"] == "token"
        assert answer.header("set-cookie") is None


def test_signing_out_removes_the_cookie(guarded: Guarded) -> None:
    answer = guarded.site.send("POST", "/api/v1/sign-out", headers=sent_by(guarded.tokens["viewer"])[1:])

    cookie = (answer.header("set-cookie") or "").lower()
    assert answer.status == 204
    assert "max-age=0" in cookie
    assert guarded.tokens["viewer"].lower() not in cookie
    assert {"httponly", "samesite=strict", "path=/"} <= {*cookie.split("; ")}


@pytest.mark.parametrize(
    ("address_of_site", "secure"), [("https://evals.example", True), ("http://evals.example", False)]
)
def test_the_cookie_is_secure_where_people_use_https(tmp_path: Path, address_of_site: str, secure: bool) -> None:  # noqa: FBT001 - a case
    with asgi_site(tmp_path, public_url=address_of_site, allowed_hosts=("evals.example",)) as site:
        token = said("token", "create", "somebody", "--role", "viewer").strip()
        answer = site.send("POST", "/api/v1/sign-in", {"token": token})

        assert ("secure" in (answer.header("set-cookie") or "").lower().split("; ")) is secure
        assert site.ask("GET", "/health/live", headers=(("host", "EVALS.example"),)).status == 200
        assert site.send("GET", "/api/v1/benchmarks/runs").status == 401  # also by a name of loopback


@pytest.mark.parametrize("route", CHANGING, ids=title)
def test_a_change_leaves_a_line_that_says_who_and_no_secret(
    guarded: Guarded, route: Route, caplog: pytest.LogCaptureFixture
) -> None:
    token = guarded.tokens["admin"]
    with caplog.at_level(logging.INFO, "prompt_evaluator.audit"):
        answer = guarded.site.send(route.method, address(route), body(route, guarded.site), headers=sent_by(token)[:1])

    lines = [record.getMessage() for record in caplog.records if record.name == "prompt_evaluator.audit"]
    assert token not in caplog.text
    assert token.rpartition("_")[2] not in caplog.text
    if route.audited:
        assert [json.loads(line) for line in lines] == [
            {
                "time": json.loads(lines[0])["time"],
                "caller": "the admin",
                "from": "127.0.0.1",
                "method": route.method,
                "path": address(route),
                "status": answer.status,
            }
        ]
    else:
        assert lines == []


def test_a_line_of_the_audit_log_is_one_line_whatever_the_address(
    guarded: Guarded, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "prompt_evaluator.audit"):
        hostile = f"{MISSING}%0d%0a%22%7d%1b%5b2J%e2%80%a8"
        guarded.site.send("DELETE", f"/api/v1/benchmarks/runs/{hostile}", headers=sent_by(guarded.tokens["admin"])[:1])

    (line,) = [record.getMessage() for record in caplog.records]
    assert line.isascii()
    assert line.isprintable()
    assert json.loads(line)["caller"] == "the admin"


def test_on_loopback_nobody_needs_a_token(site: AsgiSite) -> None:
    for route in ROUTES:
        for headers in ((), sent_by("nonsense")[:1], sent_by("nonsense")[1:]):
            answer = site.send(route.method, address(route), headers=headers)
            assert answer.status not in (401, 403, 303), title(route)
