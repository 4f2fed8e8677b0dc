"""Runs on Ray: many killed workers, killed drivers, and a Ray of the command's own that leaves nothing behind."""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ray_head import need_ray
from ray_runs import (
    AT_ONCE,
    SETTINGS,
    killed_workers_lose_nothing_and_cost_at_most_one_and_a_half_windows_each,
    on_ray,
    reference,
    workers,
)
from workspace import REAL, Workspace, timeless, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chat_service import ChatService
    from ray_head import RayHead


def test_twenty_killed_workers_lose_nothing(online: Workspace, service: ChatService, ray_head: RayHead) -> None:
    killed_workers_lose_nothing_and_cost_at_most_one_and_a_half_windows_each(online, service, ray_head, 20)


def test_killed_drivers_lose_nothing_and_a_resume_finishes_what_they_left(
    online: Workspace, service: ChatService, ray_head: RayHead
) -> None:
    kills, rng, engine = 5, random.Random(5), on_ray(online, ray_head)
    online.cases(80 * (kills + 1))
    expected, cost = reference(online, service)
    service.set(latency=0.05)

    started, run_id = online.start_evaluation(*REAL, *SETTINGS, *engine), ""
    committed: dict[tuple[str, bytes], bytes] = {}
    for _ in range(kills):
        run_id = started.wait_until_under_way()
        enough = service.paid + rng.randrange(40, 120)
        until(lambda enough=enough: service.paid >= enough, seconds=240)  # type: ignore[misc]
        started.kill()
        until(lambda: not workers(online.folder), seconds=60)
        now = online.units(run_id)
        assert committed.items() <= now.items()
        committed = now
        started = online.start("resume", run_id, "--json", "-j", str(AT_ONCE), *engine)
    service.set(latency=0)
    done = started.finish()

    assert done.code == 0, done.err
    assert timeless(done.artifact) == timeless(expected)
    assert 0 <= service.paid - 2 * cost <= kills * 1.5 * AT_ONCE


def test_an_interrupt_leaves_a_run_that_resume_finishes(
    online: Workspace, service: ChatService, ray_head: RayHead
) -> None:
    online.cases(100)
    service.set(latency=0.05)
    started = online.start_evaluation(*REAL, *SETTINGS, *on_ray(online, ray_head))
    run_id = started.wait_until_under_way()
    until(lambda: service.paid > 60, seconds=240)

    started.process.send_signal(signal.SIGINT)
    done = started.finish()

    assert done.code == 130
    assert f"prompt-evaluator resume {run_id}" in done.err
    assert online.artifact(run_id)["stop_reason"] == "interrupted by SIGINT"
    service.set(latency=0)
    again = online.run("resume", run_id, "--json")
    assert again.artifact["status"] == "completed"
    assert 400 <= service.paid <= 400 + 1.5 * AT_ONCE


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """For Ray's sockets, whose paths must be short."""
    folder = Path(tempfile.mkdtemp(prefix="pe-", dir="/tmp"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def test_a_ray_of_its_own_leaves_nothing_behind_even_if_the_command_is_killed(
    online: Workspace, service: ChatService, short_folder: Path
) -> None:
    need_ray()
    online.environment |= {"TMPDIR": str(short_folder), "HOME": str(short_folder / "home")}
    online.cases(60)
    service.set(latency=0.05)
    started = online.start_evaluation(*REAL, *SETTINGS, "--engine", "ray", "--ray-workers", "2")
    run_id = started.wait_until_under_way()
    until(lambda: service.paid > 40, seconds=240)
    assert list(short_folder.iterdir())

    started.kill()

    until(lambda: not processes(short_folder) and not list(short_folder.iterdir()), seconds=60)
    ray = ("--engine", "ray", "--ray-workers", "2")
    done = online.run_in_new_python("resume", run_id, "--json", *ray, timeout=300)
    assert done.json["status"] == "completed"
    assert not processes(short_folder)
    assert not list(short_folder.iterdir())


def processes(folder: Path) -> list[str]:
    """Command lines of processes that belong to a Ray with its session below the folder."""
    mark = f"PROMPT_EVALUATOR_RAY_SESSION={folder}/".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().decode())
    return found
