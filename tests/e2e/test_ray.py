"""Runs on Ray, with two worker processes: killed workers and drivers lose nothing and cost little."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ray_head import need_ray
from soak import trials
from workspace import REAL, Workspace, timeless, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chat_service import ChatService
    from ray_head import RayHead

pytestmark = pytest.mark.slow

AT_ONCE = 32
"""Calls in flight, half of them at each of two workers."""
SETTINGS = ("-n", "2", "--seed", "7", "-j", str(AT_ONCE))


@pytest.fixture
def on_ray(online: Workspace, ray_head: RayHead) -> tuple[str, ...]:
    """Flags to run on the session's Ray."""
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


def paid_for(service: ChatService, calls: int) -> None:
    until(lambda: service.paid >= calls, seconds=240)


@pytest.mark.soak
@pytest.mark.timeout(1_500)  # twenty processes that have to start again, in `make nightly`
def test_killed_workers_lose_nothing_and_cost_at_most_one_and_a_half_windows_each(
    online: Workspace, service: ChatService, on_ray: tuple[str, ...], ray_head: RayHead
) -> None:
    kills, rng = trials(2, soak=20), random.Random(4)
    online.cases(40 + 80 * kills)
    expected, cost = reference(online, service)
    service.set(latency=1)  # so that the run cannot end before the last kill

    started = online.start_evaluation(*REAL, *SETTINGS, *on_ray)
    run_id = started.wait_until_under_way()
    committed = online.units(run_id)
    for _ in range(kills):
        paid = service.paid
        paid_for(service, paid + AT_ONCE)
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
    extra, most = service.paid - 2 * cost, kills * 1.5 * AT_ONCE / 2
    print(f"{kills} workers killed: {extra} calls paid twice, at most {most:.0f}")  # noqa: T201 - a figure to read
    assert 0 <= extra <= most
    until(lambda: not workers(online.folder), seconds=60)
    key = service.environment["OPENAI_API_KEY"].encode()
    logs = [path for path in Path(ray_head.folder).rglob("*") if path.is_file()]
    assert logs
    assert not [path.name for path in logs if key in path.read_bytes()]


@pytest.mark.soak
@pytest.mark.timeout(1_500)  # twenty processes that have to start again, in `make nightly`
def test_killed_drivers_lose_nothing_and_a_resume_finishes_what_they_left(
    online: Workspace, service: ChatService, on_ray: tuple[str, ...]
) -> None:
    kills, rng = trials(1, soak=5), random.Random(5)
    online.cases(80 * (kills + 1))
    expected, cost = reference(online, service)
    service.set(latency=0.05)

    started, run_id = online.start_evaluation(*REAL, *SETTINGS, *on_ray), ""
    committed: dict[tuple[str, bytes], bytes] = {}
    for _ in range(kills):
        run_id = started.wait_until_under_way()
        paid_for(service, service.paid + rng.randrange(40, 120))
        started.kill()
        until(lambda: not workers(online.folder), seconds=60)
        now = online.units(run_id)
        assert committed.items() <= now.items()
        committed = now
        started = online.start("resume", run_id, "--json", "-j", str(AT_ONCE), *on_ray)
    service.set(latency=0)
    done = started.finish()

    assert done.code == 0, done.err
    assert timeless(done.artifact) == timeless(expected)
    extra, most = service.paid - 2 * cost, kills * 1.5 * AT_ONCE
    print(f"{kills} drivers killed: {extra} calls paid twice, at most {most:.0f}")  # noqa: T201 - a figure to read
    assert 0 <= extra <= most


def test_an_interrupt_leaves_a_run_that_resume_finishes(
    online: Workspace, service: ChatService, on_ray: tuple[str, ...]
) -> None:
    online.cases(100)
    service.set(latency=0.05)
    started = online.start_evaluation(*REAL, *SETTINGS, *on_ray)
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


def test_without_the_extra_the_error_names_it(offline: Workspace) -> None:
    hidden = "import sys; sys.modules['ray'] = None; from prompt_evaluator.cli.main import main; main()"
    arguments = ("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--engine", "ray")
    done = subprocess.run(
        [sys.executable, "-c", hidden, *arguments],
        cwd=offline.folder,
        env=offline.environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 2
    assert "Install the extra `ray`: pip install 'prompt-verdict[ray]'." in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert not (offline.folder / "runs").exists()


def test_a_cluster_that_is_not_there_is_named(offline: Workspace) -> None:
    need_ray()
    done = offline.run_in_new_python(
        "evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--engine", "ray", "--ray-address", "127.0.0.1:1"
    )

    assert done.code == 3
    assert "No connection to the Ray cluster at 127.0.0.1:1" in " ".join(done.err.split())
    assert "Traceback" not in done.err
