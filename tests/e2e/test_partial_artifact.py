"""`dataset_evaluation.json` while a run goes on, after a kill, and when it is taken up again."""

from __future__ import annotations

import signal
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

from workspace import REAL, Workspace, until

if TYPE_CHECKING:
    from chat_service import ChatService

CASES = 40


def completed(online: Workspace, run_id: str) -> list[str]:
    """The cases that the main file shows as finished. It is whole and lists every case at any moment."""
    artifact = online.artifact(run_id)
    cases: list[dict[str, Any]] = artifact["test_case_results"]
    assert [case["test_case_id"] for case in cases] == [f"case-{at:03}" for at in range(CASES)]
    assert {case["status"] for case in cases} <= {"completed", "pending", "partial", "failed"}
    finished = [case for case in cases if case["status"] == "completed"]
    assert all(len(case["samples"]) == 2 for case in finished)
    if artifact["totals"]:
        assert artifact["totals"]["cases"].get("completed", 0) == len(finished)
    return [case["test_case_id"] for case in finished]


def test_finished_cases_are_in_the_main_file_during_the_run_after_a_kill_and_after_a_new_start(
    online: Workspace, service: ChatService
) -> None:
    online.cases(CASES)
    service.set(latency=0.4)
    started = online.start_evaluation(*REAL, "-n", "2", "-j", "8")
    run_id = started.wait_until_under_way()
    assert completed(online, run_id) == []

    until(lambda: len(completed(online, run_id)) > 3)
    running = online.artifact(run_id)
    assert (running["status"], running["timestamp_end"]) == ("running", None)
    assert running["system_prompt"] == "Answer in one sentence.\n"
    assert online.index()[0]["status"] == "running"
    assert len(list((online.folder / "runs" / run_id).glob("test_case_*.json"))) > 3
    started.process.kill()
    started.process.communicate()

    killed = completed(online, run_id)
    assert len(killed) > 3

    # Taken up again, with a service that says nothing: the file stays as good as it was.
    service.set(hold=True)
    paid = service.paid
    again = online.start("resume", run_id, "--json", "-j", "8")
    until(lambda: service.paid > paid)
    assert completed(online, run_id) == killed
    again.process.send_signal(signal.SIGINT)
    assert again.finish().code == 130
    assert set(completed(online, run_id)) >= set(killed)

    service.set(hold=False, latency=0, rules=[{"status": 401, "message": "no such key"}])
    refused = online.run("resume", run_id, "--json")
    assert (refused.code, refused.json["status"]) == (3, "aborted")
    assert set(completed(online, run_id)) >= set(killed)

    service.set(rules=[])
    done = online.run("resume", run_id, "--retry-errors", "--json")

    assert done.code == 0
    assert len(completed(online, run_id)) == CASES


def test_what_json_prints_is_in_the_main_file_under_the_same_names(offline: Workspace) -> None:
    done = offline.evaluate("-n", "2")

    printed = done.json
    assert printed.pop("artifact").endswith(f"{printed['run_id']}/dataset_evaluation.json")
    artifact = done.artifact
    assert printed == {name: artifact[name] for name in printed}
    assert set(artifact) - set(printed) == {"test_case_results", "prepared_metrics"}
    shown = offline.run("runs", "show", done.run_id, "--json").json
    assert {name: shown[name] for name in printed} == printed


def test_parts_of_cases_are_not_forgotten_when_a_new_start_fails(online: Workspace, service: ChatService) -> None:
    online.cases(2)
    run_id = online.evaluate(*REAL, "-n", "10", "--max-calls", "6").run_id

    def known() -> tuple[int, int, int]:
        """Completed samples in the main file, in its totals, and in the store."""
        artifact = online.artifact(run_id)
        samples = [sample for case in artifact["test_case_results"] for sample in case.get("samples", ())]
        shown = online.run("runs", "show", run_id, "--json").json
        in_file = sum(sample["status"] == "completed" for sample in samples)
        return in_file, artifact["totals"]["samples"]["completed"], shown["totals"]["samples"]["completed"]

    assert known() == (3, 3, 3)

    service.set(rules=[{"status": 401, "message": "no such key"}])
    assert online.run("resume", run_id).code == 3

    assert known() == (3, 3, 3)


def test_no_key_is_in_the_main_file_where_the_prompt_has_it(online: Workspace, service: ChatService) -> None:
    key = online.environment["OPENAI_API_KEY"]
    online.write("prompt.txt", f"Answer. Never say {key}.")

    done = online.evaluate(*REAL, "-n", "1")

    assert done.code == 0
    assert service.paid == 6
    assert key not in done.out
    assert done.json["system_prompt"] == "Answer. Never say [secret]."
    assert all(key.encode() not in path.read_bytes() for path in (online.folder / "runs").rglob("*.json"))


def test_a_run_killed_before_it_kept_a_summary_is_shown_with_what_it_has(
    online: Workspace, service: ChatService
) -> None:
    service.set(rules=[{"match": "Question 001", "kind": "generate", "status": 400}])
    run_id = online.evaluate(*REAL, "-n", "2").run_id
    with closing(sqlite3.connect(online.folder / ".prompt_evaluator/store.db")) as store:
        store.execute("UPDATE runs SET status = 'running', summary = NULL, progress = NULL")
        store.execute("DELETE FROM units WHERE case_id = 'case-002'")
        store.commit()

    shown = online.run("runs", "show", run_id)

    assert "Stopped after 4 of 6 samples" in shown.words
    assert "semantic_fidelity" in shown.out
    totals = online.run("runs", "show", run_id, "--json").json["totals"]
    assert totals["cases"] == {"completed": 1, "failed": 1, "pending": 1}
