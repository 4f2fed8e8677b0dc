"""`kill -9` of an evaluation, again and again: nothing committed is lost, little is paid twice, the end is the same."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from workspace import REAL, timeless, until

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Started, Workspace

AT_ONCE = 32


def reference(online: Workspace, service: ChatService, *settings: str) -> tuple[dict[str, object], int]:
    """The artifact of a run that nobody interrupts, and what it costs."""
    service.set(latency=0)
    done = online.evaluate(*REAL, *settings)
    assert done.code == 0
    return done.artifact, service.paid


def run_until(started: Started, service: ChatService, calls: int) -> str:
    """Kill an evaluation as soon as it has made so many calls, and return its id."""
    before = service.paid
    run_id = started.wait_until_under_way()
    until(lambda: service.paid >= before + calls or started.process.poll() is not None)
    assert started.process.poll() is None, "it ended before it was killed"
    started.kill()
    return run_id


def kills_cost_little_and_change_nothing(online: Workspace, service: ChatService, kills: int) -> None:
    online.cases(20 * kills)
    settings = ("-n", "2", "--seed", "7", "-j", str(AT_ONCE))
    expected, cost = reference(online, service, *settings)
    service.set(latency=0.15)
    rng = random.Random(4)

    started, run_id = online.start_evaluation(*REAL, *settings), ""
    committed: dict[tuple[str, bytes], bytes] = {}
    for _ in range(kills):
        run_id = run_until(started, service, rng.randint(1, 2 * AT_ONCE))
        now = online.units(run_id)
        assert committed.items() <= now.items()
        assert online.artifact(run_id)["status"] == "running"
        committed = now
        started = online.start("resume", run_id, "-j", str(AT_ONCE), "--json")
    service.set(latency=0)
    done = started.finish()

    assert done.code == 0
    assert committed.items() <= online.units(run_id).items()
    assert timeless(done.artifact) == timeless(expected)
    assert 0 <= service.paid - 2 * cost <= kills * 1.5 * AT_ONCE
