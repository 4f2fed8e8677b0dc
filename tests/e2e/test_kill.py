"""`kill -9`, again and again: nothing committed is lost, little is paid twice, and the end is the same."""

from __future__ import annotations

import json
import random
import time
from typing import TYPE_CHECKING

import pytest
from soak import trials
from workspace import REAL, Workspace, timeless

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Started

pytestmark = pytest.mark.slow

KILLS, AT_ONCE = trials(25, soak=100), 32
"""In `make nightly`, more kills of a longer run."""


def _reference(online: Workspace, service: ChatService, *settings: str) -> tuple[dict[str, object], int]:
    """The artifact of a run that nobody interrupts, and what it costs."""
    service.set(latency=0)
    done = online.evaluate(*REAL, *settings)
    assert done.code == 0
    return done.artifact, service.paid


def _run_until(started: Started, seconds: float) -> str:
    run_id = started.wait_until_under_way()
    time.sleep(seconds)
    assert started.process.poll() is None, "it ended before it was killed"
    started.kill()
    return run_id


@pytest.mark.soak
def test_25_kills_cost_little_and_change_nothing(online: Workspace, service: ChatService) -> None:
    online.cases(12 * KILLS)
    settings = ("-n", "2", "--seed", "7", "-j", str(AT_ONCE))
    expected, cost = _reference(online, service, *settings)
    service.set(latency=0.15)
    rng = random.Random(4)

    run_id = _run_until(online.start_evaluation(*REAL, *settings), rng.uniform(0, 0.25))
    committed = online.units(run_id)
    for _ in range(KILLS - 1):
        _run_until(online.start("resume", run_id, "-j", str(AT_ONCE)), rng.uniform(0, 0.25))
        now = online.units(run_id)
        assert committed.items() <= now.items()
        assert online.artifact(run_id)["status"] == "running"
        committed = now
    service.set(latency=0)
    done = online.run("resume", run_id, "--json")

    assert done.code == 0
    assert committed.items() <= online.units(run_id).items()
    assert timeless(done.artifact) == timeless(expected)
    assert 0 <= service.paid - 2 * cost <= KILLS * 1.5 * AT_ONCE


def test_kills_from_the_last_answer_to_the_last_byte_leave_whole_files_and_lose_only_what_was_under_way(
    online: Workspace, service: ChatService
) -> None:
    service.set(padding=20_000)
    online.cases(300)
    expected, cost = _reference(online, service, "-n", "2", "--seed", "7")
    run_id = _run_until(online.start_evaluation(*REAL, "-n", "2", "--seed", "7", "-j", "8"), 0.05)
    started = online.start("resume", run_id, "-j", "32")
    started.wait_until_under_way()
    while service.paid < 2 * cost and started.process.poll() is None:
        time.sleep(0.005)
    started.kill()
    paid = service.paid
    for kill in range(10):
        started = online.start("resume", run_id, "-j", "32")
        if not started.is_under_way():
            break  # the last kill came after the last byte
        time.sleep(kill * 0.05)
        if started.process.poll() is not None:
            break
        started.kill()
        for path in (online.folder / "runs" / run_id).glob("*.json"):
            json.loads(path.read_bytes())
        online.index()
    done = online.run("resume", run_id, "--json")

    assert done.code == 0
    assert timeless(online.artifact(run_id)) == timeless(expected)
    assert service.paid - paid <= 1.5 * 32 * (kill + 1)
    assert not list((online.folder / "runs" / run_id).glob(".*"))


def test_a_killed_new_verdict_is_resumed_without_generating(online: Workspace, service: ChatService) -> None:
    online.cases(100)
    parent, _ = _reference(online, service, "-n", "1")
    before = service.state()["kinds"]["generate"]
    service.set(latency=0.1)

    run_id = _run_until(online.start("score", str(parent["run_id"]), "--rubric", "content-quality"), 0.3)
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
