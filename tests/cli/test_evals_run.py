"""`prompt-evaluator evals run`, as somebody types it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from harness_folder import CONFIGS, TASKS, by_task, results, write_harness

if TYPE_CHECKING:
    from pathlib import Path

    from workspace import Workspace

MORE = [{"id": f"t{at}", "category": "docs", "prompt": f"Question {at}?", "mustInclude": ["delta"]} for at in range(6)]
TWO: list[dict[str, Any]] = [{"id": "plain", "retries": 1}, {"id": "other"}]


def test_every_task_of_every_file_meets_every_configuration(offline: Workspace) -> None:
    write_harness(offline, configs=TWO)
    offline.write("evals/tasks/more.json", json.dumps(MORE))
    offline.write("evals/tasks/.hidden.json", "not read")

    done = offline.run("evals", "run")

    assert done.code == 0, done.err
    run = results(offline, "latest.json")
    tasks = ["one", "two", *(task["id"] for task in MORE)]
    assert [(each["configId"], each["taskId"]) for each in run["evaluations"]] == [
        (name, task) for name in ("plain", "other") for task in tasks
    ]
    assert by_task(run)["t0"]["category"] == "docs"
    assert [each["totalTasks"] for each in run["summaries"]] == [8, 8]
    assert run["status"] == "completed"
    assert run["synthetic"] is True
    assert {*run["configHashes"]} == {*run["storeRuns"]} == {"plain", "other"}
    assert done.words.startswith("8 tasks with 2 configurations, once.")
    assert "evals gate" in done.out


def test_every_run_is_in_the_store_in_one_group_and_can_be_listed_by_configuration(offline: Workspace) -> None:
    write_harness(offline, configs=TWO)

    run = offline.run("evals", "run", "--json").json["run"]

    listed = offline.run("runs", "list", "--json", "--where", "tag.evals=other").json["runs"]
    assert [each["run_id"] for each in listed] == [run["storeRuns"]["other"]]
    assert [each["group_id"] for each in listed] == [run["runId"]]


def test_runs_of_the_harness_are_called_by_its_folder_wherever_runs_have_a_dataset(offline: Workspace) -> None:
    write_harness(offline, configs=TWO, folder="release-checks")

    offline.run("evals", "run", "--evals-dir", "release-checks")

    listed = offline.run("runs", "list", "--json").json["runs"]
    board = offline.run("leaderboard", "--json").json["boards"][0]
    trends = offline.run("trends", "--dataset", "release-checks", "--json").json
    assert [each["dataset_name"] for each in (*listed, board)] == ["release-checks"] * 3
    assert trends["dataset"]["name"] == "release-checks"


def test_the_next_step_after_one_of_the_runs_is_a_command_of_the_harness(offline: Workspace) -> None:
    write_harness(offline, configs=[{**TWO[0], "simulated_quality": 1}, TWO[1]])
    run = offline.run("evals", "run", "--samples", "2", "--json").json["run"]

    shown = offline.run("runs", "show", run["storeRuns"]["plain"]).words

    assert "evaluate again with --samples 5" in shown


def test_the_next_step_after_a_run_that_was_stopped_is_to_resume_the_harness(offline: Workspace) -> None:
    write_harness(offline, [*TASKS, *MORE])
    offline.run("evals", "run", "--evals-dir", "evals", "--max-calls", "2")

    shown = offline.run("runs", "show", "@last").words

    assert "evals run --resume --evals-dir evals" in shown


def test_the_mock_gives_the_same_results_again_with_latencies_that_nobody_waits_for(offline: Workspace) -> None:
    write_harness(offline, [*TASKS, *MORE], TWO)

    first, second = (offline.run("evals", "run", "-n", "2", "--json").json["run"] for _ in range(2))

    assert first["evaluations"] == second["evaluations"]
    assert first["summaries"] == second["summaries"]
    assert first["summaries"][0]["latencyAvgMs"] > 100
    assert first["summaries"][0] != {**first["summaries"][1], "configId": "plain"}
    assert first["tasksHash"] == second["tasksHash"]
    assert [each["runId"] for each in results(offline, "history.json")] == [first["runId"], second["runId"]]


def test_an_entry_decides_how_well_and_how_fast_the_mock_answers(offline: Workspace) -> None:
    configs: list[dict[str, Any]] = [
        {"id": "good", "simulated_quality": 1, "simulated_latency_ms": 10},
        {"id": "bad", "simulated_quality": 0, "simulated_latency_ms": 5_000},
    ]
    write_harness(offline, MORE, configs)

    good, bad = offline.run("evals", "run", "--json").json["run"]["summaries"]

    assert (good["taskCompletionRate"], bad["taskCompletionRate"]) == (100, 0)
    assert good["latencyAvgMs"] < 50
    assert bad["latencyAvgMs"] > 1_000


@pytest.mark.parametrize(
    ("flags", "configs", "tasks"),
    [
        (["--config-ids", "other"], {"other"}, {"one", "two", "t0"}),
        (["--categories", "docs,web"], {"plain", "other"}, {"one", "t0"}),
        (["--task-ids", "two", "--task-ids", "one", "--config-ids", "plain"], {"plain"}, {"one", "two"}),
        (["--categories", "docs", "--task-ids", "t0,one"], {"plain", "other"}, {"t0"}),
    ],
)
def test_a_part_can_be_chosen(offline: Workspace, flags: list[str], configs: set[str], tasks: set[str]) -> None:
    write_harness(offline, [*TASKS, MORE[0]], TWO)

    run = offline.run("evals", "run", "--json", *flags).json["run"]

    assert {each["configId"] for each in run["summaries"]} == configs
    assert {each["taskId"] for each in run["evaluations"]} == tasks
    assert {each["totalTasks"] for each in run["summaries"]} == {len(tasks)}


@each(
    ("flags", "words"),
    [
        (["--config-ids", "plane"], "There is no configuration 'plane'. Did you mean 'plain'?"),
        (["--categories", "wep"], "There is no task category 'wep'. Did you mean 'web'?"),
        (["--task-ids", "tow"], "There is no task 'tow'. Did you mean 'two'?"),
        (["--task-ids", "one", "--categories", "code"], "No task matches both --categories and --task-ids."),
        (["--config-ids", ","], "name at least one"),
        (["--samples", "0"], "whole number from 1"),
        (["--evals-dir", "nowhere"], "There is no folder nowhere."),
        (["--resume", "--samples", "2"], "Leave out --samples."),
        (["--resume", "--task-ids", "one"], "Leave out --task-ids."),
        (["--resume", "--estimate"], "cannot be combined with --resume"),
        (["--resume"], "There is no harness run to resume."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_choice_that_makes_no_sense_is_a_usage_error(offline: Workspace, flags: list[str], words: str) -> None:
    write_harness(offline, configs=TWO)

    done = offline.run("evals", "run", *flags)

    assert done.code == 2
    assert words in done.err
    assert not (offline.folder / "evals/results/history.json").exists()


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "There is no task file in evals/tasks."),
        ({"a.json": "[]"}, "evals/tasks/a.json"),
        ({"a.json": '[{"id": "x", "prompt": "?"}]'}, "No chosen task has required phrases"),
        ({"a.json": '[{"id": "x", "prompt": "?", "mustInclude": [" "]}]'}, "evals/tasks/a.json:1"),
        (
            {"a.json": json.dumps(TASKS), "b.json": json.dumps([{**MORE[0], "id": "two"}])},
            "evals/tasks/b.json:1: The task id 'two' is used twice (first at evals/tasks/a.json:1)",
        ),
    ],
    ids=["no file", "no task", "no check", "a blank phrase", "an id twice"],
)
def test_tasks_that_cannot_be_used_are_errors_before_the_first_call(
    offline: Workspace, files: dict[str, str], words: str
) -> None:
    offline.write("evals/configs/providers.json", json.dumps(CONFIGS))
    for name, text in files.items():
        offline.write(f"evals/tasks/{name}", text)

    done = offline.run("evals", "run")

    assert done.code == 2
    assert words in done.err
    assert not (offline.folder / ".prompt_evaluator").exists()


def test_a_task_without_phrases_is_complete_once_it_is_answered(offline: Workspace) -> None:
    write_harness(offline, [*TASKS, {"id": "free", "prompt": "Say anything."}])

    run = offline.run("evals", "run", "--json").json["run"]

    found = by_task(run)["free"]
    assert (found["completionPass"], found["retriesUsed"], found["hallucinationIncident"]) == (True, 0, False)
    assert found["category"] == "all"
    assert run["status"] == "completed"


def test_a_parameter_that_is_not_a_number_is_an_error_that_names_the_configuration(offline: Workspace) -> None:
    write_harness(offline, configs=[{"id": "a", "temperature": "low"}])

    done = offline.run("evals", "run")

    assert done.code == 2
    assert "The configuration 'a': `temperature` has to be a number from 0 to 100, not the text 'low'" in done.err


def test_an_estimate_makes_no_call_and_writes_nothing(offline: Workspace) -> None:
    write_harness(offline, configs=TWO)

    done = offline.run("evals", "run", "--estimate", "--samples", "3")

    assert done.code == 0
    assert "Estimate for 2 tasks × 3 samples with 2 configurations." in done.words
    assert "Calls     12" in done.out
    assert "up to 2 times as much" in done.words
    assert not (offline.folder / "evals/results").exists()


def test_settings_of_other_evaluations_do_not_reach_the_harness(offline: Workspace) -> None:
    write_harness(offline)
    offline.configure(generator={"temperature": 0, "seed": 3, "max_tokens": 1}, num_samples=4)

    run = offline.run("evals", "run", "--json").json["run"]

    assert run["samples"] == 1
    artifact = offline.artifact(run["storeRuns"]["plain"])
    assert artifact["generator_config"]["temperature"] is None
    assert artifact["generator_config"]["max_tokens"] is None


def test_another_folder_can_be_named_and_is_named_in_the_next_step(offline: Workspace) -> None:
    write_harness(offline, folder="checks/release")

    done = offline.run("evals", "run", "--evals-dir", "checks/release")

    assert done.code == 0
    assert "evals gate --evals-dir checks/release" in done.out
    assert len(results(offline, "history.json", "checks/release")) == 1


def test_a_folder_of_somebody_else_is_used_only_if_it_is_named(offline: Workspace, tmp_path: Path) -> None:
    if os.geteuid():
        pytest.skip("only root can give a folder away")
    write_harness(offline)
    os.chown(tmp_path / "evals/tasks", 54_321, 54_321)

    done = offline.run("evals", "run")

    assert done.code == 2
    assert "--evals-dir" in done.err
    assert offline.run("evals", "run", "--evals-dir", "evals").code == 0
