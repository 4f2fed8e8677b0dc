"""Runs that are asked for over HTTP: the same runs as those of the command line, made once, whatever dies."""

from __future__ import annotations

import json
import socket
import subprocess
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest
from served import Served, eventually, served

from prompt_evaluator.client import Client, RefusedError

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace


_AS_PASTED = """\
curl -X POST http://localhost:8080/api/v1/benchmarks/runs \\
  -H "Content-Type: application/json" \\
  -d '{"dataset": "basic-coding", "model": "openai/gpt-4o", "metrics": ["correctness"]}'
"""
_PROMISED = {
    *("id", "dataset", "model", "metrics", "status", "summary_scores", "total_cost", "total_tokens"),
    *("total_duration_ms", "created_at", "completed_at"),
}
BIG: dict[str, Any] = {"dataset": "big", "model": "openai/test", "metrics": ["exact_match"]}


def _big(workspace: Workspace, cases: int) -> None:
    """A benchmark with one call per case."""
    lines = [{"id": f"case-{at:03}", "input": f"Question {at:03}?", "reference": "yes"} for at in range(cases)]
    workspace.cases(lines, "benchmarks/big.jsonl")


def _free_port(wanted: int) -> int:
    with closing(socket.socket()) as probe:
        try:
            probe.bind(("127.0.0.1", wanted))
        except OSError:  # somebody else's server
            return 0
    return wanted


def test_the_documents_request_works_as_it_is_pasted(online: Workspace) -> None:
    with served(online, port=_free_port(8080)) as server:
        pasted = _AS_PASTED.replace("http://localhost:8080", server.address.replace("127.0.0.1", "localhost"))
        with_status = pasted.replace("curl", "curl -sS -w '%{stderr}%{http_code}'", 1)
        done = subprocess.run(["bash", "-c", with_status], capture_output=True, text=True, timeout=60, check=True)
        answered = json.loads(done.stdout)
        run = server.client.wait(answered["id"])

    assert done.stderr == "201"
    assert answered.keys() >= _PROMISED
    assert (answered["dataset"], answered["model"], answered["metrics"]) == (
        "basic-coding",
        "openai/gpt-4o",
        ["correctness"],
    )
    assert answered["status"] in {"queued", "running"}
    assert run.status == "completed"
    assert run.summary_scores.keys() == {"correctness"}
    assert run.total_tokens
    assert run.completed_at


def test_a_run_over_http_is_a_run_of_the_command_line_and_the_other_way_round(online: Workspace) -> None:
    with served(online) as server:
        over_http = server.client.wait(
            server.client.start_run(dataset="basic-coding", model="openai/test", tags={"team": "search"}).id
        )
        in_terminal = online.evaluate("--generator-model", "openai/test").run_id
        listed = {run.id for run in server.client.all_runs(limit=1)}

    shown = online.run("runs", "list", "--json").json["runs"]
    assert listed == {over_http.id, in_terminal} == {run["run_id"] for run in shown}
    assert (online.folder / "runs" / over_http.id / "dataset_evaluation.json").exists()
    assert online.run("runs", "list", "--where", "tag.team=search", "--json").json["runs"][0]["run_id"] == over_http.id


def test_a_run_in_a_terminal_is_watched_and_cancelled_over_http(online: Workspace, service: ChatService) -> None:
    service.set(latency=0.3)
    online.cases(4_000)  # it must not be through before it is stopped
    with served(online) as server:
        started = online.start_evaluation("--generator-model", "openai/test", "-n", "1", "-j", "4")
        run_id = started.wait_until_under_way()
        seen = []
        for event in server.client.events(run_id):
            seen.append(event)
            if event.kind == "case":
                break
        server.client.cancel(run_id)
        done = started.finish()
        run = server.client.run(run_id)

    assert seen[0].kind == "progress"
    assert seen[0].data["status"] == "running"
    assert done.code == 3
    assert (run.status, run.stop_reason) == ("aborted", "cancelled by local")
    assert 0 < service.paid < 4_000


def test_a_killed_server_goes_on_with_its_runs_and_pays_again_at_most_what_was_in_flight(
    online: Workspace, service: ChatService
) -> None:
    at_once, cases = 8, 60
    _big(online, cases)
    service.set(latency=0.25)
    with served(online) as server:
        run_id = server.client.start_run(**BIG, max_concurrency=at_once).id
        eventually(lambda: service.paid > at_once * 2)
        server.kill()
    with served(online) as server:
        run = server.client.wait(run_id, timeout=60)
        samples = list(server.client.all_results(run_id, limit=7))

    assert run.status == "completed"
    assert [case["test_case_id"] for case in samples] == [f"case-{at:03}" for at in range(cases)]
    assert cases <= service.paid <= cases + at_once * 1.5


def test_a_worker_that_is_killed_is_replaced(online: Workspace, service: ChatService) -> None:
    _big(online, 60)
    service.set(latency=0.25)
    with served(online) as server:
        run_id = server.client.start_run(**BIG, max_concurrency=8).id
        eventually(lambda: service.paid > 16)
        (worker,) = _children(server)
        subprocess.run(["kill", "-9", str(worker)], check=True)
        run = server.client.wait(run_id, timeout=60)

    assert run.status == "completed"
    assert 60 <= service.paid <= 60 + 12
    assert "The worker has ended" in server.log


def test_a_server_that_is_stopped_leaves_its_runs_resumable_and_goes_on_with_them_later(
    online: Workspace, service: ChatService
) -> None:
    _big(online, 60)
    service.set(latency=0.25)
    with served(online) as server:
        run_id = server.client.start_run(**BIG, max_concurrency=8).id
        eventually(lambda: service.paid > 16)
        code = server.stop()
    stopped = online.run("runs", "list", "--json").json["runs"][0]
    with served(online) as server:
        run = server.client.wait(run_id, timeout=60)

    assert code == 0
    assert "Traceback" not in server.log
    assert (stopped["status"], stopped["stop_reason"]) == ("aborted", "its worker was stopped")
    assert run.status == "completed"
    assert service.paid == 60


def test_runs_wait_to_be_resumed_where_the_setting_says_so(online: Workspace, service: ChatService) -> None:
    _big(online, 60)
    online.configure(server={"resume": "wait"})
    service.set(latency=0.25)
    with served(online) as server:
        run_id = server.client.start_run(**BIG, max_concurrency=8).id
        eventually(lambda: service.paid > 16)
        server.kill()
    with served(online) as server:
        run = eventually(lambda: found if (found := server.client.run(run_id)).status == "aborted" else None)
        paid = service.paid
        resumed = server.client.resume(run_id)
        ended = server.client.wait(run_id, timeout=60)

    assert "worker" in (run.stop_reason or "") or "process" in (run.stop_reason or "")
    assert paid < 60
    assert resumed.status in {"queued", "running"}
    assert ended.status == "completed"


def test_two_servers_on_one_store_make_every_run_once(online: Workspace, service: ChatService) -> None:
    _big(online, 20)
    service.set(latency=0.05)
    with ExitStack() as stack:
        servers = [stack.enter_context(served(online)) for _ in range(2)]
        runs = [servers[at % 2].client.start_run(**BIG, note=f"run {at}").id for at in range(6)]
        ended = [servers[(at + 1) % 2].client.wait(run_id, timeout=60) for at, run_id in enumerate(runs)]

    assert [run.status for run in ended] == ["completed"] * 6
    assert service.paid == 6 * 20


def test_runs_beyond_the_limit_wait_in_order_and_can_be_cancelled_while_they_wait(
    online: Workspace, service: ChatService
) -> None:
    _big(online, 10)
    online.configure(server={"runs_at_once": 1})
    service.set(latency=0.3)
    with served(online) as server:
        first, second, third = (server.client.start_run(**BIG, max_concurrency=1, note=str(at)).id for at in range(3))
        eventually(lambda: server.client.run(first).status == "running")
        waiting = server.client.runs(status="queued")
        cancelled = server.client.cancel(second)
        service.set(latency=0.0)
        last = server.client.wait(third, timeout=60)
        with pytest.raises(RefusedError) as refused:
            server.client.cancel(second)

    assert {run.id: run.queue_position for run in waiting.runs} == {second: 0, third: 1}
    assert (cancelled.status, cancelled.stop_reason) == ("aborted", "cancelled by local")
    assert last.status == "completed"
    assert refused.value.status == 409
    assert service.paid == 20


def test_a_run_that_is_resumed_gets_no_second_budget(offline: Workspace) -> None:
    _big(offline, 12)
    offline.configure(server={"max_calls": 5})
    with served(offline) as server:
        run = server.client.start_run(dataset="big", model="mock/default", metrics=["exact_match"])
        stopped = server.client.wait(run.id)
        server.client.resume(run.id)
        again = server.client.wait(run.id)
    offline.configure(server={"max_calls": 8})
    with served(offline) as server:
        server.client.resume(run.id)
        raised = server.client.wait(run.id)

    ends = (stopped, again, raised)
    assert [each.status for each in ends] == ["aborted"] * 3
    assert [each.progress.samples_done for each in ends if each.progress] == [5, 5, 8]
    assert "budget" in (again.stop_reason or "")


def test_a_request_that_is_sent_twice_with_one_key_makes_one_run(online: Workspace) -> None:
    with served(online) as server:
        ask: dict[str, Any] = {"dataset": "basic-coding", "model": "mock/default"}
        first = server.client.start_run(**ask, idempotency_key="today")
        again = server.client.start_run(**ask, idempotency_key="today")
        with pytest.raises(RefusedError) as refused:
            server.client.start_run(**ask, samples=2, idempotency_key="today")
        count = len(server.client.runs().runs)

    assert first.id == again.id
    assert count == 1
    assert (refused.value.status, refused.value.field) == (422, "Idempotency-Key")


def test_a_dataset_that_is_dropped_into_the_folder_is_listed_and_runnable_at_once(offline: Workspace) -> None:
    with served(offline) as server:
        before = _names(server.client)
        offline.write(
            "benchmarks/late.yaml", "name: Late\ntasks:\n- {id: a, name: A, input: Hi, expected_output: Ho}\n"
        )
        offline.write("benchmarks/broken.yaml", "name: Broken\ntasks:\n- {id: a\n")
        listed = {each["name"]: each for each in server.client.get("/api/v1/benchmarks/datasets")["datasets"]}
        run = server.client.wait(server.client.start_run(dataset="late", model="mock/default").id)
        with pytest.raises(RefusedError) as refused:
            server.client.start_run(dataset="broken", model="mock/default")

    assert "late" not in before
    assert (listed["late"]["title"], listed["late"]["cases"], listed["late"]["error"]) == ("Late", 1, None)
    assert "broken.yaml" in listed["broken"]["error"]
    assert str(offline.folder) not in listed["broken"]["error"]
    assert (run.status, run.dataset, run.cases) == ("completed", "late", 1)
    assert refused.value.status == 422


def test_several_models_make_a_group_and_a_suite_too(offline: Workspace) -> None:
    offline.configure(
        suites={
            "small": {"datasets": ["basic-coding", "retrieval-qa"], "models": ["mock/a"], "metrics": ["exact_match"]}
        }
    )
    with served(offline) as server:
        group = server.client.start_group(dataset="basic-coding", models=["mock/a", "mock/b"], metrics=["exact_match"])
        suite = server.client.start_group(suite="small")
        ended = [server.client.wait(run.id) for run in (*group.runs, *suite.runs)]
        listed = server.client.runs(group=group.group_id)

    assert [run.model for run in group.runs] == ["mock/a", "mock/b"]
    assert [run.dataset for run in suite.runs] == ["basic-coding", "retrieval-qa"]
    assert {run.group_id for run in suite.runs} == {suite.group_id}
    assert [run.status for run in ended] == ["completed"] * 4
    assert {run.id for run in listed.runs} == {run.id for run in group.runs}


def test_what_cannot_run_is_refused_at_once_and_leaves_nothing(offline: Workspace) -> None:
    refused: dict[str, RefusedError] = {}
    asked: dict[str, dict[str, Any]] = {
        "dataset": {"dataset": "basic-codin", "model": "mock/default"},
        "model": {"dataset": "basic-coding", "model": "openay/gpt-4o"},
        "metrics": {"dataset": "basic-coding", "model": "mock/default", "metrics": ["corectness"]},
        "samples": {"dataset": "basic-coding", "model": "mock/default", "samples": 1_000},
        "key": {"dataset": "basic-coding", "model": "openai/gpt-4o"},
        "code": {"dataset": "basic-coding", "model": "python:os:getcwd"},
    }
    with served(offline) as server:
        for name, body in asked.items():
            with pytest.raises(RefusedError) as found:
                server.client.start_run(**body)
            refused[name] = found.value
        left = server.client.runs()

    assert {name: each.status for name, each in refused.items()} == dict.fromkeys(asked, 422)
    assert {name: refused[name].field for name in ("dataset", "model", "metrics", "samples")} == {
        name: name for name in ("dataset", "model", "metrics", "samples")
    }
    assert "'basic-coding'" in str(refused["dataset"])
    assert "'openai'" in str(refused["model"])
    assert "'correctness'" in str(refused["metrics"])
    assert "OPENAI_API_KEY" in str(refused["key"])
    assert not left.runs


def _names(client: Client) -> set[str]:
    return {each["name"] for each in client.get("/api/v1/benchmarks/datasets")["datasets"]}


def _children(server: Served) -> list[int]:
    command = ["pgrep", "-P", str(server.process.pid)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return [int(line) for line in done.stdout.split()]
