"""Services that answer nothing: the run ends soon, says why, keeps what was paid for, and goes on another day."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from chat_service import ChatService, running_service
from sockets import bound
from workspace import REAL, Workspace

LIMITED = {"status": 429, "message": "slow down"}


def patience(online: Workspace, **limits: Any) -> None:
    online.configure(providers={"openai": {"limits": {"give_up_after": 1, **limits}}})


@pytest.mark.parametrize(
    "trouble",
    [
        {**LIMITED},
        {"status": 503},
        {"hang": True},
    ],
    ids=["429", "503", "no reply"],
)
def test_a_judge_that_never_answers_ends_the_run_and_a_healthy_one_finishes_it(
    online: Workspace, service: ChatService, trouble: dict[str, Any]
) -> None:
    patience(online, try_timeout=0.4)
    online.cases(10)
    service.set(rules=[{"kind": "judge", **trouble}], keep=True)

    done = online.evaluate(*REAL, "-n", "2")

    assert (done.code, done.json["status"]) == (3, "aborted")
    assert "test at http://127.0.0.1" in done.artifact["stop_reason"]
    assert re.search(r"has not answered for \d+ s \(\d+ tries: \d+", done.artifact["stop_reason"])
    assert f"prompt-evaluator resume {done.run_id}" in done.err
    assert (done.artifact["totals"]["time_outs"] >= 3) is ("hang" in trouble)  # also of calls that were given up
    assert any(case["samples"][0]["generator_output"] for case in done.artifact["test_case_results"])
    service.set(rules=[])
    errors = [] if trouble.get("status") == 429 else ["--retry-errors"]  # after 429s there are none
    again = online.run("resume", done.run_id, *errors, "--json")
    assert again.json["status"] == "completed"
    assert service.state()["kinds"]["generate"] == 20


def test_a_wait_of_an_hour_ends_the_run_at_once_and_says_when_to_come_back(
    online: Workspace, service: ChatService
) -> None:
    online.cases(10)
    service.set(rules=[{"kind": "judge", **LIMITED, "headers": {"Retry-After": "3600"}}])

    done = online.evaluate(*REAL, "-n", "2")

    assert (done.code, done.json["status"]) == (3, "aborted")
    assert re.search(r"asks to wait 3,600 s.* Try again after \d{4}-\d\d-\d\d \d\d:\d\d UTC", done.err, re.DOTALL)
    assert service.state()["kinds"]["judge"] <= 16
    service.set(rules=[])
    assert online.run("resume", done.run_id, "--json").json["status"] == "completed"
    assert service.state()["kinds"]["generate"] == 20


def test_one_case_that_nobody_can_answer_is_an_error_and_ends_nothing(online: Workspace, service: ChatService) -> None:
    patience(online, try_timeout=0.5, first_backoff=0.1)
    online.cases(10)
    service.set(rules=[{"kind": "generate", "match": "Question 003", "hang": True}])

    done = online.evaluate(*REAL, "-n", "1")

    assert (done.code, done.json["status"]) == (0, "partial")
    assert done.artifact["totals"]["errors"] == {"TimedOutError": 1}
    assert done.artifact["totals"]["time_outs"] == 3


def test_time_outs_are_counted_as_perhaps_paid_for(online: Workspace, service: ChatService) -> None:
    patience(online, try_timeout=0.5, first_backoff=0.05)
    online.cases(2)
    rules = [
        {"kind": "generate", "match": "Question 000", "hang": True, "times": 1},
        {"kind": "judge", "match": "Question 001", "hang": True, "times": 2},
    ]
    service.set(rules=rules)

    done = online.run("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", *REAL, "-n", "1")

    assert done.code == 0
    assert "3 tries timed out and may have been paid for." in done.words
    run_id = online.index()[0]["run_id"]
    artifact = online.artifact(run_id)
    assert artifact["status"] == "completed"
    assert artifact["totals"]["time_outs"] == 3
    assert [case["samples"][0]["time_outs"] for case in artifact["test_case_results"]] == [1, 2]
    assert service.paid == 4 + 3


def a_port_where_nobody_listens() -> int:
    with bound("127.0.0.1", 0) as sock:
        port: int = sock.getsockname()[1]
        return port


def nobody(online: Workspace, address: str) -> None:
    online.environment["ANTHROPIC_BASE_URL"] = address
    online.environment["ANTHROPIC_API_KEY"] = "test-key-1234567890"


@pytest.mark.parametrize(
    ("role", "address", "why"),
    [
        ("--generator-model", "http://127.0.0.1:{port}", "Connection refused"),
        ("--judge-model", "http://no-such-host.invalid", "no-such-host.invalid:80: "),
    ],
    ids=["connection refused", "unknown host"],
)
def test_a_service_that_was_never_reached_ends_the_run_soon_and_is_named(
    online: Workspace, role: str, address: str, why: str
) -> None:
    nobody(online, address.format(port=a_port_where_nobody_listens()))
    online.cases(30)

    models = {REAL[0]: REAL[1]} | {role: "anthropic/test"}
    done = online.evaluate(*(part for model in models.items() for part in model), "-n", "2")

    assert (done.code, done.json["status"]) == (3, "aborted")
    reason = done.artifact["stop_reason"]
    assert "anthropic: stopped, because test at http://" in reason
    assert "could not be reached: no connection to " in reason
    assert why in reason
    assert "Check that the service is running and that its address is right" in reason
    assert f"prompt-evaluator resume {done.run_id}" in done.err
    assert done.artifact["totals"]["errors"] == {}


def test_a_service_that_speaks_no_tls_ends_the_run_at_once(online: Workspace) -> None:
    online.cases(30)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        nobody(online, f"https://127.0.0.1:{server.server_port}")
        done = online.evaluate("--generator-model", "anthropic/test", "-n", "2")
        server.shutdown()

    assert (done.code, done.json["status"]) == (3, "aborted")
    assert "no secure connection" in done.artifact["stop_reason"]


def test_a_run_whose_service_was_never_reached_goes_on_once_it_is_started(offline: Workspace) -> None:
    port = a_port_where_nobody_listens()
    offline.environment |= ChatService(port).environment
    done = offline.evaluate(*REAL, "-n", "2")
    assert done.json["status"] == "aborted"

    with running_service(port):
        again = offline.run("resume", done.run_id, "--json")

    assert again.json["status"] == "completed"
