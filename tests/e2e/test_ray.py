"""Runs on Ray. Many killed workers, killed drivers and a Ray of one's own are in tests/nightly/test_ray_runs.py."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from ray_head import need_ray
from ray_runs import killed_workers_lose_nothing_and_cost_at_most_one_and_a_half_windows_each

if TYPE_CHECKING:
    from chat_service import ChatService
    from ray_head import RayHead
    from workspace import Workspace


def test_a_killed_worker_loses_nothing_and_costs_at_most_one_and_a_half_windows(
    online: Workspace, service: ChatService, ray_head: RayHead
) -> None:
    killed_workers_lose_nothing_and_cost_at_most_one_and_a_half_windows_each(online, service, ray_head, 1)


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
