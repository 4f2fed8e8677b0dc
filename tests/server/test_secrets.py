"""No answer, no line of the log and no error has a key, a password or a token in it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from asgi_site import AsgiSite, asgi_site, said
from route_calls import ROUTES, address, body

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from asgi_site import Answer

KEY, PASSWORD = "sk-key-of-this-test-4711", "password-of-this-test-4711"
PROXIES = ("http://user:{}@127.0.0.1:9", "http://user:{}@127.0.0.1:no-port", "socks9://u:{}@x")
BENCHMARKS = "/api/v1/benchmarks"


def every_answer(site: AsgiSite, token: str) -> list[Answer]:
    bearer = (("authorization", f"Bearer {token}"),)
    found = []
    for route in ROUTES:
        target = address(route) if route.method == "DELETE" else address(route, site)
        ways = (bearer, (), (("authorization", f"Bearer {token}x"),), (("cookie", f"prompt_evaluator_token={token}"),))
        found += [site.send(route.method, target, body(route, site), headers=headers) for headers in ways]
        found += [
            site.send(route.method, f"{target}?no_such_parameter=1", body(route, site), headers=bearer),
            site.send(route.method, target, {"no_such_field": 1}, headers=bearer),
            site.ask("PUT", target, headers=(("host", "localhost"), *bearer)),
        ]
    asked = {"dataset": "basic-coding", "model": "openai/gpt-4o", "max_cases": 1}
    for value in (asked, {**asked, "model": "openai/"}, {**asked, "judge": "opnai/gpt"}, {**asked, "metrics": ["x"]}):
        targets = (f"{BENCHMARKS}/{name}" for name in ("runs", "estimate"))
        found += [site.send("POST", target, value, headers=bearer) for target in targets]
    return found


def test_no_answer_and_no_line_of_the_log_has_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with caplog.at_level(logging.DEBUG), asgi_site(tmp_path, allowed_hosts=("evals.example",)) as site:
        token = said("token", "create", "somebody", "--role", "admin").strip()
        answers = []
        for proxy in PROXIES:
            monkeypatch.setenv("HTTPS_PROXY", proxy.format(PASSWORD))
            answers += every_answer(site, token)

    secret = token.split("_", 2)[2]
    for answer in answers:
        assert answer.status < 500, answer
        shown = answer.body.decode("utf-8", "replace") + str(
            [pair for pair in answer.headers if pair[0] != "set-cookie"]
        )
        assert not [each for each in (KEY, PASSWORD, secret) if each in shown]
    assert not [each for each in (KEY, PASSWORD, secret) if each in caplog.text]
