"""Several processes in one folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workspace import REAL, Workspace

if TYPE_CHECKING:
    from chat_service import ChatService


def test_of_two_resumes_at_once_one_is_refused_and_told_who_has_the_run(
    online: Workspace, service: ChatService
) -> None:
    online.cases(40)
    service.set(latency=0.05)
    first = online.start_evaluation(*REAL, "-n", "1", "-j", "4")
    run_id = first.wait_until_under_way()
    first.kill()
    paid, units = service.paid, len(online.units(run_id))
    service.set(hold=True)
    owner = online.start("resume", run_id, "-j", "4")
    owner.wait_until_under_way()

    refused = online.run("resume", run_id)
    service.set(hold=False)

    assert refused.code == 2
    assert f"process {owner.process.pid} on " in refused.err
    assert "Wait for it to end" in refused.err
    assert owner.finish().code == 0
    assert service.paid - paid == 80 - units
    assert online.artifact(run_id)["status"] == "completed"


def test_two_evaluations_at_once_both_complete_and_both_are_in_the_index(
    online: Workspace, service: ChatService
) -> None:
    online.cases(50)
    service.set(latency=0.01)

    started = [online.start_evaluation(*REAL, "-n", "2", "--run-note", note) for note in ("one", "two")]
    done = [each.finish() for each in started]

    assert [each.code for each in done] == [0, 0]
    assert {entry["description"]: entry["status"] for entry in online.index()} == {
        "one": "completed",
        "two": "completed",
    }
    assert {each.run_id for each in done} == {entry["run_id"] for entry in online.index()}
    assert service.paid == 400
