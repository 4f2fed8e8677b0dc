"""Control-C and SIGTERM under load: what is finished is kept, and the rest can be resumed."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from workspace import REAL, Workspace, until

if TYPE_CHECKING:
    from chat_service import ChatService


@pytest.mark.parametrize(("caught", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["SIGINT", "SIGTERM"])
def test_a_signal_under_load_leaves_a_run_that_resume_finishes(
    online: Workspace, service: ChatService, caught: signal.Signals, code: int
) -> None:
    online.cases(120)
    service.set(latency=0.1)
    started = online.start_evaluation(*REAL, "-n", "2", "-j", "16")
    run_id = started.wait_until_under_way()
    until(lambda: service.paid > 150)

    started.process.send_signal(caught)
    done = started.finish()

    assert done.code == code
    assert f"prompt-evaluator resume {run_id}" in done.err
    artifact = online.artifact(run_id)
    assert (artifact["status"], artifact["timestamp_end"]) == ("aborted", None)
    assert artifact["stop_reason"] == f"interrupted by {caught.name}"
    assert done.json["status"] == "aborted"
    statuses = [case["status"] for case in artifact["test_case_results"]]
    assert len(statuses) == 120
    assert set(statuses) == {"completed", "pending"}
    finished = {case["test_case_id"] for case in artifact["test_case_results"] if case["status"] == "completed"}
    files = {path.name for path in (online.folder / "runs" / run_id).glob("test_case_*.json")}
    assert files == {f"test_case_{case_id}.json" for case_id in finished}
    assert artifact["overall_metric_stats"]["semantic_fidelity"]["num_cases"] == len(finished)
    assert online.index()[0]["status"] == "aborted"

    service.set(latency=0)
    again = online.run("resume", run_id, "--json")

    assert again.code == 0
    assert again.artifact["status"] == "completed"
    assert again.artifact["stop_reason"] is None
    # Nothing that was under way was thrown away either: it had time to finish.
    assert service.paid == 120 * 2 * 2
    assert service.state()["most"] <= 2  # two samples without a seed ask the same


def test_a_second_signal_ends_it_at_once(online: Workspace, service: ChatService) -> None:
    service.set(hold=True)
    started = online.start_evaluation(*REAL)
    run_id = started.wait_until_under_way()
    until(lambda: service.paid > 0)
    started.process.send_signal(signal.SIGINT)
    assert started.process.stderr is not None
    assert "Stopping" in started.process.stderr.readline()

    started.process.send_signal(signal.SIGINT)
    done = started.finish()

    assert done.code == 130
    service.set(hold=False)
    assert online.run("resume", run_id).code == 0


def test_what_does_not_finish_soon_after_a_signal_is_given_up(online: Workspace, service: ChatService) -> None:
    service.set(hold=True)
    started = online.start_evaluation(*REAL)
    started.wait_until_under_way()
    until(lambda: service.paid > 0)

    started.process.send_signal(signal.SIGTERM)
    done = started.finish()

    assert done.code == 143
    assert {case["status"] for case in done.artifact["test_case_results"]} == {"pending"}


def test_a_resumed_run_can_be_interrupted_too(online: Workspace, service: ChatService) -> None:
    online.cases(60)
    service.set(latency=0.1)
    for paid in (20, 60):
        command = ("resume", online.the_run()) if paid > 20 else ("evaluate-dataset", "-d", "data.jsonl", *REAL)
        more = () if paid > 20 else ("-s", "prompt.txt", "-n", "1")
        started = online.start(*command, *more, "-j", "8")
        started.wait_until_under_way()
        until(lambda paid=paid: service.paid > paid)  # type: ignore[misc]
        started.process.send_signal(signal.SIGINT)
        assert started.finish().code == 130

    done = online.run("resume", online.the_run(), "--json")

    assert done.code == 0
    assert service.paid == 120
