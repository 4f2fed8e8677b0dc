"""`prompt-evaluator benchmark`, as somebody types it."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

import pytest
from sockets import bound
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from chat_service import ChatService
    from workspace import Done

TASK = "- {id: a, name: Short, input: x, expected_output: y, difficulty: hard}\n"


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_of_several_runs_the_worst_decides_the_exit_code(project: Workspace) -> None:
    project.write("targets.py", "def good(q): return 'y'\n\n\ndef bad(q): raise ValueError(q)\n")
    project.write("benchmarks/own.yaml", f"tasks:\n{TASK}")

    done = project.run(
        *("benchmark", "run", "--dataset", "own", "--metrics", "exact_match", "--json"),
        *("--model", "python:targets:bad,python:targets:good"),
    )

    assert [run["status"] for run in done.json["runs"]] == ["failed", "completed"]
    assert done.code == 3


def test_the_mock_answers_as_a_judge_for_every_metric(project: Workspace) -> None:
    metrics = ("correctness", "faithfulness", "contextual_precision", "answer_relevancy")

    done = project.run("benchmark", "run", "--dataset", "retrieval-qa", "--metrics", ",".join(metrics), "--json")

    assert done.code == 0, done.err
    (run,) = done.json["runs"]
    for metric in metrics:
        stats = run["overall_metric_stats"][metric]
        assert stats["num_cases"] > 0
        assert 0.6 <= stats["mean_of_means"] <= 1


def test_a_rubric_can_judge_in_a_benchmark_beside_metrics(project: Workspace) -> None:
    done = project.run(
        "benchmark", "run", "--dataset", "basic-coding", "--metrics", "similarity", "--rubric", "code-review", "--json"
    )

    assert done.code == 0
    metrics = done.json["runs"][0]["overall_metric_stats"]
    assert set(metrics) == {"correctness", "readability", "robustness", "similarity"}
    assert metrics["readability"]["scale"] == [1.0, 5.0]


# Several models and datasets


def group_of(project: Workspace, *arguments: str) -> Done:
    return project.run("benchmark", "run", "--metrics", "similarity", *arguments)


def test_each_summary_is_titled_with_its_dataset_and_model(project: Workspace) -> None:
    done = group_of(project, "--dataset", "basic-coding,retrieval-qa", "--model", "mock/a")

    titles = [line.strip("─ ") for line in done.out.splitlines() if line.startswith("──")]
    assert titles == ["basic-coding · mock/a", "retrieval-qa · mock/a", "both runs"]


def test_a_single_run_has_a_title_and_no_table_of_its_own(project: Workspace) -> None:
    done = group_of(project, "--dataset", "basic-coding")

    assert "── basic-coding · mock/default ──" in done.out
    assert "all 1 run" not in done.out


def test_the_group_is_in_the_json(project: Workspace) -> None:
    done = group_of(project, "--dataset", "basic-coding,retrieval-qa", "--model", "mock/a", "--json")

    group = done.json["group"]
    assert group["group_id"] == done.json["runs"][0]["group_id"]
    assert [member["run_id"] for member in group["members"]] == [run["run_id"] for run in done.json["runs"]]
    for member, run in zip(group["members"], done.json["runs"], strict=True):
        stats = run["overall_metric_stats"]["similarity"]
        assert member["scores"]["similarity"]["mean"] == stats["mean_of_means"]
        assert member["scores"]["similarity"]["interval"] == stats["interval"]
        assert (member["status"], member["cost"], member["reason"]) == ("completed", 0, None)
        assert member["seconds"] > 0


def test_a_run_that_fails_loses_nobody_elses_results(online: Workspace, service: ChatService) -> None:
    service.set(
        rules=[
            {"model": "unknown", "status": 404, "message": "no such model"},
            {"model": "keyless", "status": 401, "message": "wrong key"},
            {"text": "yes"},
        ]
    )
    for name in ("tea", "coffee"):
        online.cases(
            [{"id": f"{at}", "input": "x?", "reference": "yes"} for at in range(5)], f"benchmarks/{name}.jsonl"
        )
    with bound("127.0.0.1", 0) as nobody:  # never listens
        address = f"http://127.0.0.1:{nobody.getsockname()[1]}/v1"
        entry = {"kind": "openai", "base_url": address, "api_key_env": "OPENAI_API_KEY", "limits": {"max_tries": 1}}
        online.configure(providers={"nowhere": entry})
        models = "openai/unknown,openai/good,openai/keyless,nowhere/x,openai/better"
        done = online.run(
            *("benchmark", "run", "--dataset", "tea,coffee", "--model", models, "--metrics", "exact_match", "--json")
        )

    assert done.code == 3
    members = {(each["model"], each["dataset"]): each for each in done.json["group"]["members"]}
    assert len(members) == 10
    for model in ("openai/good", "openai/better"):
        for dataset in ("tea", "coffee"):
            member = members[model, dataset]
            assert (member["status"], member["scores"]["exact_match"]["mean"]) == ("completed", 1)
    reasons = {"openai/unknown": "no such model", "openai/keyless": "wrong key", "nowhere/x": "nowhere: "}
    for model, reason in reasons.items():
        for dataset in ("tea", "coffee"):
            member = members[model, dataset]
            assert (member["label"], member["mark"], member["scores"]) == ("failed", "bad", {})
            assert reason in member["reason"]


# Who judges


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("--model", "mock/a,mock/b"),
            "mock/a judged its own answers: choose another judge with --judge-model.",
        ),
        (("--model", "mock/a,mock/b", "--judge-model", "mock/c"), None),
        (("--model", "mock/a,mock/b", "--metrics", "similarity"), None),
    ],
    ids=["by the first", "by another", "by no judge"],
)
def test_models_that_judge_themselves_are_pointed_out_in_a_line(
    project: Workspace, arguments: tuple[str, ...], sentence: str | None
) -> None:
    done = project.run("benchmark", "run", "--dataset", "basic-coding", "--max-cases", "2", *arguments)

    *_, table = done.out.partition("── both runs ──")
    said = [line for line in table.splitlines() if "--judge-model" in line]
    assert said == ([sentence] if sentence else [])


def test_an_interrupt_ends_the_group_and_names_what_was_not_begun(online: Workspace, service: ChatService) -> None:
    service.set(latency=0.05)
    for name in ("tea", "coffee"):
        online.cases(400, f"benchmarks/{name}.jsonl")
    started = online.start(
        *("benchmark", "run", "--dataset", "tea,coffee", "--model", "openai/a", "-j", "1", "--json"),
        *("--metrics", "length(max_words=50)"),
    )
    started.wait_until_under_way()

    started.process.send_signal(signal.SIGINT)
    done = started.finish()

    assert done.code == 130
    assert [member["status"] for member in done.json["group"]["members"]] == ["aborted", "not_begun"]
    assert "Not started, because an earlier run stopped the group: coffee with openai/a." in done.err
    assert [run["status"] for run in online.run("runs", "list", "--json").json["runs"]] == ["aborted"]
