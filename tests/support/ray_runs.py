"""Runs on Ray, with two worker processes that are killed: nothing is lost, and little is paid twice."""

from __future__ import annotations

import os
import random
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from workspace import REAL, timeless, until

if TYPE_CHECKING:
    from chat_service import ChatService
    from ray_head import RayHead
    from workspace import Workspace

AT_ONCE = 32
"""Calls in flight, half of them at each of two workers."""
SETTINGS = ("-n", "2", "--seed", "7", "-j", str(AT_ONCE))


def on_ray(online: Workspace, ray_head: RayHead) -> tuple[str, ...]:
    """Flags to run on the session's Ray, which the folder's commands are let in to."""
    online.environment |= ray_head.environment
    return ("--engine", "ray", "--ray-address", ray_head.address, "--ray-workers", "2")


def workers(folder: Path) -> list[int]:
    """Worker processes of the runs in a folder; it is their working folder, too."""
    return [int(place.name) for place in Path("/proc").glob("[0-9]*") if _is_worker(place, folder)]


def _is_worker(place: Path, folder: Path) -> bool:
    with suppress(OSError):
        return (place / "cwd").readlink() == folder and (place / "cmdline").read_bytes().startswith(b"ray::")
    return False


def reference(online: Workspace, service: ChatService) -> tuple[dict[str, object], int]:
    """The artifact of a run in one process that nobody interrupts, and what it costs."""
    done = online.evaluate(*REAL, *SETTINGS)
    assert done.code == 0
    return done.artifact, service.paid


def killed_workers_lose_nothing_and_cost_at_most_one_and_a_half_windows_each(
    online: Workspace, service: ChatService, ray_head: RayHead, kills: int
) -> None:
    rng = random.Random(4)
    online.cases(40 + 80 * kills)
    expected, cost = reference(online, service)
    service.set(latency=1)  # so that the run cannot end before the last kill

    started = online.start_evaluation(*REAL, *SETTINGS, *on_ray(online, ray_head))
    run_id = started.wait_until_under_way()
    committed = online.units(run_id)
    for _ in range(kills):
        paid = service.paid
        until(lambda paid=paid: service.paid >= paid + AT_ONCE, seconds=240)  # type: ignore[misc]
        until(lambda: len(workers(online.folder)) == 2 or started.process.poll() is not None, seconds=240)
        assert started.process.poll() is None, "it ended before the last kill"
        os.kill(rng.choice(workers(online.folder)), signal.SIGKILL)
        now = online.units(run_id)
        assert committed.items() <= now.items()
        committed = now
    service.set(latency=0)
    done = started.finish()

    assert done.code == 0, done.err
    assert done.json["status"] == "completed"  # nothing else is on standard output
    assert "raylet" not in done.err
    assert "ray::" not in done.err
    assert committed.items() <= online.units(run_id).items()
    assert timeless(done.artifact) == timeless(expected)
    assert 0 <= service.paid - 2 * cost <= kills * 1.5 * AT_ONCE / 2
    until(lambda: not workers(online.folder), seconds=60)
    key = service.environment["OPENAI_API_KEY"].encode()
    logs = [path for path in Path(ray_head.folder).rglob("*") if path.is_file()]
    assert logs
    assert not [path.name for path in logs if key in path.read_bytes()]
