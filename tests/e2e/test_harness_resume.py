"""An interrupted harness run is finished by `evals run --resume`, and what is paid for stays paid for."""

from __future__ import annotations

import json
import shutil
import signal
from typing import TYPE_CHECKING, Any

import pytest
from harness_folder import results, write_harness
from workspace import until

if TYPE_CHECKING:
    from chat_service import ChatService
    from workspace import Workspace

AT_ONCE = 4
TASKS = [{"id": f"task-{at}", "prompt": f"Question {at}?", "mustInclude": ["never there"]} for at in range(12)]
CONFIGS = [
    {"id": "a", "target": "openai/test", "retries": 1, "seed": 1},
    {"id": "b", "target": "openai:test", "retries": 1, "seed": 9_000},
]
CALLS = len(TASKS) * len(CONFIGS) * 2


@pytest.fixture
def folder(online: Workspace) -> Workspace:
    write_harness(online, TASKS, CONFIGS)
    return online


def _summaries(workspace: Workspace) -> list[dict[str, Any]]:
    found = results(workspace, "latest.json")["summaries"]
    return [{name: value for name, value in each.items() if name != "latencyAvgMs"} for each in found]


def _has_history(workspace: Workspace) -> bool:
    return (workspace.folder / "evals/results/history.json").exists()


def test_after_a_kill_in_the_second_configuration_nothing_finished_is_paid_again(
    folder: Workspace, service: ChatService
) -> None:
    service.set(latency=0.1)
    started = folder.start("evals", "run", "-j", str(AT_ONCE))
    until(lambda: service.paid > CALLS * 0.7)
    started.kill()
    assert not _has_history(folder)
    service.set(latency=0)

    done = folder.run("evals", "run", "--resume")

    assert done.code == 0, done.err
    assert CALLS <= service.paid <= CALLS + 2 * AT_ONCE  # in flight, and answered but not committed yet
    assert [each["configId"] for each in _summaries(folder)] == ["a", "b"]
    assert {(each["totalTasks"], each["errors"], each["retriesPerTask"]) for each in _summaries(folder)} == {(12, 0, 1)}
    (run,) = results(folder, "history.json")
    assert (run["status"], len(run["evaluations"])) == ("completed", 24)


def test_a_kill_before_the_second_configuration_is_planned_leaves_it_to_the_resumed_run(
    folder: Workspace, service: ChatService
) -> None:
    assert folder.run("evals", "run", "--json").code == 0
    run = results(folder, "latest.json")
    assert folder.run("runs", "delete", run["storeRuns"]["b"], "--yes").code == 0
    shutil.rmtree(folder.folder / "evals/results")
    before = service.paid

    done = folder.run("evals", "run", "--resume")

    assert done.code == 0, done.err
    assert service.paid - before == CALLS / 2
    again = results(folder, "latest.json")
    assert again["runId"] == run["runId"]
    assert again["storeRuns"]["a"] == run["storeRuns"]["a"]
    assert again["summaries"][1]["configId"] == "b"


def test_an_interrupted_run_exits_130_is_not_in_the_history_and_can_be_resumed(
    folder: Workspace, service: ChatService
) -> None:
    service.set(latency=0.1)
    started = folder.start("evals", "run", "-j", str(AT_ONCE))
    started.wait_until_under_way()
    until(lambda: service.paid > 0)
    started.process.send_signal(signal.SIGINT)
    done = started.finish()

    assert done.code == 130
    assert "not added to the results" in done.err
    assert "evals run --resume" in done.err
    assert not _has_history(folder)
    service.set(latency=0)

    assert folder.run("evals", "run", "--resume").code == 0
    assert service.paid == CALLS
    assert len(results(folder, "history.json")) == 1


def test_a_spent_budget_exits_3_and_the_rest_is_paid_for_later(folder: Workspace, service: ChatService) -> None:
    done = folder.run("evals", "run", "--max-calls", "10")

    assert done.code == 3
    assert "Error: a: " in done.err
    assert not _has_history(folder)
    assert service.paid <= 10
    assert folder.run("evals", "run", "--resume").code == 0
    assert service.paid == CALLS


def test_results_that_were_not_written_are_written_without_a_call(folder: Workspace, service: ChatService) -> None:
    assert folder.run("evals", "run").code == 0
    expected = results(folder, "latest.json")
    shutil.rmtree(folder.folder / "evals/results")

    done = folder.run("evals", "run", "--resume")

    assert done.code == 0
    assert service.paid == CALLS
    assert results(folder, "latest.json") == expected


@pytest.mark.parametrize(
    ("file", "edit", "what"),
    [
        ("tasks/all.json", ("Question 3?", "Question three?"), "The tasks have changed"),
        ("tasks/all.json", ('"task-3"', '"task-x"'), "The task 'task-3' has changed"),
        ("configs/providers.json", ("9000", "9001"), "The configuration 'b' has changed"),
        ("configs/providers.json", ('"b"', '"c"'), "The configuration 'b' has changed"),
    ],
    ids=["prompt", "task id", "parameter", "configuration id"],
)
def test_what_has_changed_is_refused_before_any_call(
    folder: Workspace, service: ChatService, file: str, edit: tuple[str, str], what: str
) -> None:
    folder.run("evals", "run", "--max-calls", "4")
    paid = service.paid
    text = (folder.folder / "evals" / file).read_text(encoding="utf-8")
    folder.write(f"evals/{file}", text.replace(*edit))

    done = folder.run("evals", "run", "--resume")

    assert done.code == 2
    assert what in done.err
    assert service.paid == paid


def test_a_resumed_run_does_not_go_elsewhere(folder: Workspace, service: ChatService) -> None:
    folder.run("evals", "run", "--max-calls", "4")
    folder.environment["EVAL_ROUTER_URL"] = f"{service.url}/eval"
    paid = service.paid

    done = folder.run("evals", "run", "--resume")

    assert done.code == 2
    assert "Set or unset EVAL_ROUTER_URL" in done.err
    assert service.paid == paid


def test_a_history_that_cannot_be_read_stops_the_run_before_the_first_call(
    folder: Workspace, service: ChatService
) -> None:
    path = folder.write("evals/results/history.json", "[{broken")

    done = folder.run("evals", "run")

    assert done.code == 3
    assert "history.json" in done.err
    assert service.paid == 0
    assert path.read_bytes() == b"[{broken"


def test_parameters_of_an_entry_with_a_target_are_sent_to_its_provider(folder: Workspace, service: ChatService) -> None:
    entry = {
        "id": "a", "label": "not sent", "provider": "p", "router": "r", "model": "m", "target": "openai/test",
        "temperature": 0.3, "max_tokens": 50, "top_p": 0.9, "nothing": None,
    }  # fmt: skip
    write_harness(folder, TASKS[:1], [entry, {"id": "b", "target": "openai:test"}])
    service.set(keep=True)

    assert folder.run("evals", "run").code == 0

    first, second = (json.loads(json.dumps(asked)) for asked in service.kept)
    assert {name: first[name] for name in ("model", "temperature", "top_p")} == {
        "model": "test", "temperature": 0.3, "top_p": 0.9,
    }  # fmt: skip
    assert 50 in first.values()
    assert not {"label", "provider", "router", "retries", "target", "nothing"} & {*first}
    assert "temperature" not in second
    run = results(folder, "latest.json")
    assert [each["model"] for each in run["evaluations"]] == ["m", None]
    assert run["synthetic"] is False
