"""`kill -9`: nothing committed is lost, little is paid twice, and the end is the same."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from killing import kills_cost_little_and_change_nothing, reference, run_until
from workspace import REAL, timeless, until

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace


def test_ten_kills_cost_little_and_change_nothing(online: Workspace, service: ChatService) -> None:
    kills_cost_little_and_change_nothing(online, service, 10)


def test_kills_from_the_last_answer_to_the_last_byte_leave_whole_files_and_lose_only_what_was_under_way(
    online: Workspace, service: ChatService
) -> None:
    service.set(padding=20_000)
    online.cases(300)
    expected, cost = reference(online, service, "-n", "2", "--seed", "7")
    run_id = run_until(online.start_evaluation(*REAL, "-n", "2", "--seed", "7", "-j", "8"), service, 100)
    started = online.start("resume", run_id, "-j", "32")
    started.wait_until_under_way()
    until(lambda: service.paid >= 2 * cost or started.process.poll() is not None)
    started.kill()
    paid = service.paid
    for kill in range(10):
        started = online.start("resume", run_id, "-j", "32")
        if not started.is_under_way():
            break  # the last kill came after the last byte
        for _ in range(kill):
            check_files(online, run_id)
        if started.process.poll() is not None:
            break
        started.kill()
        check_files(online, run_id)
    done = online.run("resume", run_id, "--json")

    assert done.code == 0
    assert timeless(online.artifact(run_id)) == timeless(expected)
    assert service.paid - paid <= 1.5 * 32 * (kill + 1)
    assert not list((online.folder / "runs" / run_id).glob(".*"))


def check_files(online: Workspace, run_id: str) -> None:
    """Each is there as a whole."""
    for path in (online.folder / "runs" / run_id).glob("*.json"):
        json.loads(path.read_bytes())
    online.index()


def test_a_killed_new_verdict_is_resumed_without_generating(online: Workspace, service: ChatService) -> None:
    online.cases(100)
    parent, _ = reference(online, service, "-n", "1")
    before = service.state()["kinds"]["generate"]
    service.set(latency=0.1)

    run_id = run_until(online.start("score", str(parent["run_id"]), "--rubric", "content-quality"), service, 20)
    service.set(latency=0)
    done = online.run("resume", run_id, "--json")

    assert done.code == 0
    assert done.artifact["parent_run_id"] == parent["run_id"]
    assert done.artifact["rubric_metadata"]["rubric_name"] == "content-quality"
    assert service.state()["kinds"]["generate"] == before


def test_a_killed_run_is_shown_as_interrupted_and_one_that_is_alive_as_running(
    online: Workspace, service: ChatService
) -> None:
    service.set(hold=True)
    started = online.start_evaluation(*REAL)
    started.wait_until_under_way()
    alive = online.run("runs", "list").out
    started.kill()

    dead = online.run("runs", "list").out

    assert "running" in alive
    assert "interrupted" in dead
    assert "running" not in dead
