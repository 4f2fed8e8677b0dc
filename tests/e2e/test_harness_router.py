"""`evals run` against a real router: what it is sent, how often, and what becomes of its answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from harness_folder import TASKS, by_task, results, write_harness
from router_service import running_router

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from router_service import Asked, Router
    from workspace import Workspace

ENTRY = {
    "id": "candidate",
    "label": "Ünïcode",
    "provider": "ours",
    "router": "r1",
    "model": "m",
    "target": "openai/gpt-4o",
    "retries": 2,
    "temperature": 0.2,
    "stream": False,
    "nothing": None,
    "nested": {"list": [1, 2.5, {"deep": "x"}]},
}


@pytest.fixture
def router(offline: Workspace) -> Iterator[Router]:
    with running_router() as router:
        offline.environment |= {"EVAL_ROUTER_URL": router.url}
        yield router


def test_the_body_is_prompt_attempt_and_the_whole_entry_as_it_is_written(offline: Workspace, router: Router) -> None:
    write_harness(offline, configs=[ENTRY])
    router.answer = lambda _asked: "alpha beta"

    done = offline.run("evals", "run")

    assert done.code == 0, done.err
    assert {(asked.method, asked.path) for asked in router.asked} == {("POST", "/eval")}
    assert sorted((asked.body for asked in router.asked), key=json.dumps) == [
        {"prompt": "First?", "config": ENTRY, "attempt": 0},
        {"prompt": "Second?", "config": ENTRY, "attempt": 0},
    ]
    assert {"authorization"} & set(router.asked[0].headers) == set()


def test_the_key_is_sent_as_bearer_and_stored_nowhere(offline: Workspace, router: Router) -> None:
    write_harness(offline)
    offline.environment["EVAL_ROUTER_API_KEY"] = "router-key-test-123"
    router.answer = lambda asked: f"alpha beta {asked.headers['authorization']}"

    done = offline.run("evals", "run")

    assert done.code == 0
    assert {asked.headers["authorization"] for asked in router.asked} == {"Bearer router-key-test-123"}
    files = [file for file in offline.folder.rglob("*") if file.is_file()]
    assert not [file for file in files if b"router-key-test-123" in file.read_bytes()]


def test_attempts_count_from_0_and_end_with_the_first_good_answer(offline: Workspace, router: Router) -> None:
    write_harness(offline)
    router.answer = _answers({"First?": ["nothing", "alpha"], "Second?": ["alpha"] * 3})

    done = offline.run("evals", "run")

    assert done.code == 0
    assert sorted(router.calls()) == [
        ("plain", "First?", 0),
        ("plain", "First?", 1),
        ("plain", "Second?", 0),
        ("plain", "Second?", 1),
        ("plain", "Second?", 2),
    ]
    found = by_task(results(offline, "latest.json"))
    assert (found["one"]["completionPass"], found["one"]["retriesUsed"]) == (True, 1)
    assert (found["two"]["completionPass"], found["two"]["retriesUsed"]) == (False, 2)
    assert results(offline, "latest.json")["summaries"][0]["taskCompletionRate"] == 50
    assert results(offline, "latest.json")["summaries"][0]["retriesPerTask"] == 1.5


def test_the_last_answer_decides_and_every_response_with_a_trigger_is_an_incident(
    offline: Workspace, router: Router
) -> None:
    write_harness(offline, tasks=TASKS[:1])
    router.answer = _answers({"First?": ["alpha, made up", "made up", "Alpha but MADE UP"]})

    offline.run("evals", "run")

    run = results(offline, "latest.json")
    (found,) = run["evaluations"]
    assert found["completionPass"] is True
    assert (found["hallucinationIncident"], found["hallucinationIncidents"]) == (True, 3)
    assert [each["output"] for each in found["attempts"]] == ["alpha, made up", "made up", "Alpha but MADE UP"]
    assert [each["completionPass"] for each in found["attempts"]] == [True, False, True]
    assert found["outputSample"] == "Alpha but MADE UP"
    latencies = [each["latencyMs"] for each in found["attempts"]]
    assert found["latencyMs"] == pytest.approx(sum(latencies) / 3, abs=0.01)
    assert run["summaries"][0]["hallucinationIncidents"] == 3
    assert run["summaries"][0]["latencyAvgMs"] == pytest.approx(sum(latencies) / 3, abs=0.01)


def test_a_call_that_fails_is_tried_again_with_the_same_attempt_number(offline: Workspace, router: Router) -> None:
    write_harness(offline, tasks=TASKS[:1])
    router.answer = _answers({"First?": [503, "alpha"]})

    done = offline.run("evals", "run")

    assert done.code == 0
    assert router.calls() == [("plain", "First?", 0), ("plain", "First?", 0)]
    (found,) = results(offline, "latest.json")["evaluations"]
    assert (found["completionPass"], found["retriesUsed"], found["error"]) == (True, 0, None)


def test_a_task_whose_call_fails_is_an_error_that_is_left_out_of_the_rates(offline: Workspace, router: Router) -> None:
    write_harness(offline)
    router.answer = _answers({"First?": ["alpha"], "Second?": ["made up", 400]})

    done = offline.run("evals", "run")

    assert done.code == 0
    run = results(offline, "latest.json")
    assert run["status"] == "partial"
    (summary,) = run["summaries"]
    assert (summary["totalTasks"], summary["taskCompletionRate"], summary["errors"]) == (2, 100, 1)
    assert summary["retriesPerTask"] == 0
    failed = by_task(run)["two"]
    assert failed["completionPass"] is None
    assert failed["error"].startswith("RequestRefusedError: router: ")
    assert [each.get("output") for each in failed["attempts"]] == ["made up", None]
    assert "1 error, the first in two" in done.words


def test_a_router_that_refuses_everything_ends_the_run_with_code_3_and_no_history(
    offline: Workspace, router: Router
) -> None:
    write_harness(offline, tasks=[{**TASKS[0], "id": f"task-{at}"} for at in range(60)])
    router.answer = lambda _asked: 401

    done = offline.run("evals", "run")

    assert done.code == 3
    assert "401" in done.err
    assert "evals run --resume" in done.err
    assert not (offline.folder / "evals/results/history.json").exists()


def test_if_every_task_fails_the_run_is_recorded_and_the_code_is_3(offline: Workspace, router: Router) -> None:
    write_harness(offline)
    router.answer = lambda _asked: 400

    done = offline.run("evals", "run")

    assert done.code == 3
    run = results(offline, "latest.json")
    assert run["status"] == "failed"
    assert run["summaries"] == [
        {
            "configId": "plain",
            "totalTasks": 2,
            "taskCompletionRate": None,
            "retriesPerTask": None,
            "hallucinationIncidents": 0,
            "latencyAvgMs": None,
            "errors": 2,
        }
    ]
    assert "no answer" in done.out
    assert "Error: plain: Every task failed" in done.err


def test_samples_are_calls_of_their_own_and_do_not_change_the_number_of_tasks(
    offline: Workspace, router: Router
) -> None:
    write_harness(offline, tasks=TASKS[:1])
    router.answer = _answers({"First?": ["alpha", "no", "no", "no"]})

    offline.run("evals", "run", "--samples", "2", "-j", "1")

    run = results(offline, "latest.json")
    assert sorted(call[2] for call in router.calls()) == [0, 0, 1, 2]
    assert [each["sample"] for each in run["evaluations"]] == [0, 1]
    (summary,) = run["summaries"]
    assert (summary["totalTasks"], summary["taskCompletionRate"], summary["retriesPerTask"]) == (1, 50, 1)
    assert run["samples"] == 2


def test_all_entries_go_to_the_router_even_those_with_a_target(offline: Workspace, router: Router) -> None:
    write_harness(offline, configs=[{"id": "a", "target": "openai/gpt-4o"}, {"id": "b"}])
    router.answer = lambda _asked: "alpha beta"

    assert offline.run("evals", "run").code == 0

    assert {config for config, _, _ in router.calls()} == {"a", "b"}
    assert results(offline, "latest.json")["synthetic"] is False


def _answers(by_prompt: dict[str, list[str | int]]) -> Callable[[Asked], str | int]:
    left = {prompt: list(answers) for prompt, answers in by_prompt.items()}

    def answer(asked: Asked) -> str | int:
        return left[asked.body["prompt"]].pop(0)

    return answer
