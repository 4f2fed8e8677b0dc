"""A run of one process is cancelled from another, through the store they share."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from workspace import Workspace

SLOWLY = {"providers": {"mock": {"kind": "mock", "options": {"latency_ms": 200}}}}
REASON = "cancelled by anna"


@pytest.fixture(params=["file", "server"])
def store(offline: Workspace, request: pytest.FixtureRequest) -> Path | str:
    """Where the runs of the folder are kept, in which the mock is slow."""
    if request.param == "file":
        offline.configure(**SLOWLY)
        return offline.folder / ".prompt_evaluator/store.db"
    address: str = request.getfixturevalue("database")
    offline.configure(store=address, **SLOWLY)
    return address


def test_a_run_of_another_process_is_cancelled_and_can_be_resumed(offline: Workspace, store: Path | str) -> None:
    offline.cases(120)
    started = offline.start_evaluation("-n", "1", "-j", "2")
    run_id = started.wait_until_under_way()
    with closing(Store.open(store)) as opened:
        requested = opened.request_stop(run_id, REASON)

    done = started.finish()

    assert requested
    assert done.code == 3
    assert (done.artifact["status"], done.artifact["stop_reason"]) == ("aborted", REASON)
    counts = [case["status"] for case in done.artifact["test_case_results"]]
    assert counts.count("completed") < 120
    shown = offline.run("runs", "show", run_id).words
    assert REASON in shown
    assert f"prompt-evaluator resume {run_id}" in shown
    finished = offline.run("resume", run_id, "--json", "-j", "60")
    assert finished.code == 0
    assert finished.artifact["status"] == "completed"
