"""One process works on a run, another watches it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from workspace import REAL, Workspace

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Started


@pytest.fixture(params=["file", "server"])
def shared(online: Workspace, request: pytest.FixtureRequest) -> Workspace:
    """A folder whose runs are kept in a file, or on a server."""
    if request.param == "server":
        online.configure(store=request.getfixturevalue("database"))
    return online


def working(workspace: Workspace, service: ChatService) -> tuple[Started, str]:
    """A run that has begun and does not get on until the service is told."""
    service.set(hold=True)
    started = workspace.start_evaluation(*REAL, "-n", "2")
    return started, started.wait_until_under_way()


def test_a_run_of_another_process_is_followed_to_its_end(shared: Workspace, service: ChatService) -> None:
    started, run_id = working(shared, service)
    watching = shared.start("runs", "watch", run_id[:8])
    assert watching.wait_until_under_way() == run_id
    service.set(hold=False)
    done = started.finish()

    seen = watching.finish()

    assert done.code == seen.code == 0
    assert f"Run {run_id} completed: 3 cases × 2 samples" in seen.words
    assert "semantic_fidelity" in seen.out


def test_a_run_whose_process_was_killed_is_said_to_be_interrupted(shared: Workspace, service: ChatService) -> None:
    started, run_id = working(shared, service)
    watching = shared.start("runs", "watch", run_id)
    watching.wait_until_under_way()
    started.kill()

    seen = watching.finish()

    assert seen.code == 0
    assert f"Interrupted: the process of this run is gone. Continue with: prompt-evaluator resume {run_id}" in (
        seen.err
    )
    assert f"Run {run_id} aborted" in seen.words


def test_a_run_that_has_ended_is_shown_at_once(offline: Workspace) -> None:
    run_id = offline.evaluate("-n", "1").run_id

    seen = offline.run("runs", "watch", run_id)

    assert seen.out == offline.run("runs", "show", run_id).out
    assert (seen.code, seen.err) == (0, "")


def test_ctrl_c_ends_the_watching_and_not_the_run(online: Workspace, service: ChatService) -> None:
    started, run_id = working(online, service)
    watching = online.start("runs", "watch", run_id)
    watching.wait_until_under_way()

    watching.process.send_signal(signal.SIGINT)
    seen = watching.finish()

    assert (seen.code, seen.out) == (130, "")
    assert started.process.poll() is None
    service.set(hold=False)
    assert started.finish().code == 0
