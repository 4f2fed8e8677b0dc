"""`prompt-evaluator benchmark`, as somebody types it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

TASK = "- {id: a, name: Short, input: x, expected_output: y, difficulty: hard}\n"


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_the_list_names_every_benchmark_with_its_size_or_its_error(project: Workspace) -> None:
    project.write("benchmarks/own.yaml", f"tasks:\n{TASK}")
    project.write("benchmarks/broken.yaml", "tasks: 3\n")

    done = project.run("benchmark", "list")

    assert done.code == 0
    lines = {line.split()[0]: line for line in done.out.splitlines()}
    assert list(lines) == ["basic-coding", "broken", "own", "retrieval-qa", "tool-use-basic"]
    assert lines["own"].split() == ["own", "project", "1", "tasks"]
    assert lines["basic-coding"].split() == ["basic-coding", "shipped", "12", "tasks"]
    assert "error: " in lines["broken"]
    found = project.run("benchmark", "list", "--json").json["benchmarks"]
    assert [each["name"] for each in found] == list(lines)


def test_show_lists_the_tasks(project: Workspace) -> None:
    project.write("benchmarks/own.yaml", f"name: Our own\ndescription: About x.\ntasks:\n{TASK}")

    done = project.run("benchmark", "show", "own")

    assert done.out.splitlines()[1:] == ["About x.", "  a  Short  (hard)"]
    shown = project.run("benchmark", "show", "own", "--json").json
    assert [task["id"] for task in shown["tasks"]] == ["a"]


def test_a_folder_may_be_configured_and_the_configuration_named(project: Workspace) -> None:
    project.write("other/prompt_evaluator.yaml", "benchmark: {datasets_dir: mine}\n")
    project.write("other/mine/own.yaml", f"tasks:\n{TASK}")
    config = ("-c", "other/prompt_evaluator.yaml")

    assert "own" in project.run("benchmark", "list", *config).out
    assert project.run("benchmark", "show", "own", *config).code == 0
    assert project.run("benchmark", "show", "own").code == 2
    done = project.run("benchmark", "run", "--dataset", "own", "--metrics", "similarity", "--json", *config)
    assert done.json["runs"][0]["status"] == "completed"


def test_an_unknown_benchmark_is_refused_with_the_nearest(project: Workspace) -> None:
    done = project.run("benchmark", "show", "retrieval")

    assert done.code == 2
    assert done.err == "Error: There is no benchmark 'retrieval'. Did you mean 'retrieval-qa'?\n"


def test_every_run_has_its_summary(project: Workspace) -> None:
    done = project.run("benchmark", "run", "--dataset", "basic-coding,retrieval-qa", "--metrics", "similarity")

    assert done.code == 0
    assert done.out.count("similarity") >= 2
    assert done.err.count("Run ") == 2


def test_of_several_runs_the_worst_decides_the_exit_code(project: Workspace) -> None:
    project.write("targets.py", "def good(q): return 'y'\n\n\ndef bad(q): raise ValueError(q)\n")
    project.write("benchmarks/own.yaml", f"tasks:\n{TASK}")

    done = project.run(
        *("benchmark", "run", "--dataset", "own", "--metrics", "exact_match", "--json"),
        *("--model", "python:targets:bad,python:targets:good"),
    )

    assert [run["status"] for run in done.json["runs"]] == ["failed", "completed"]
    assert done.code == 3


@pytest.mark.parametrize("metric", ["correctness", "faithfulness", "contextual_precision", "answer_relevancy"])
def test_the_mock_answers_as_a_judge_for_every_metric(project: Workspace, metric: str) -> None:
    done = project.run("benchmark", "run", "--dataset", "retrieval-qa", "--metrics", metric, "--json")

    assert done.code == 0, done.err
    (run,) = done.json["runs"]
    assert run["overall_metric_stats"][metric]["num_cases"] > 0


def test_a_rubric_can_judge_in_a_benchmark_beside_metrics(project: Workspace) -> None:
    done = project.run(
        "benchmark", "run", "--dataset", "basic-coding", "--metrics", "similarity", "--rubric", "code-review", "--json"
    )

    assert done.code == 0
    metrics = done.json["runs"][0]["overall_metric_stats"]
    assert set(metrics) == {"correctness", "readability", "robustness", "similarity"}
    assert metrics["readability"]["scale"] == [1.0, 5.0]


def test_a_metric_and_a_criterion_of_one_name_are_refused(project: Workspace) -> None:
    done = project.run(
        "benchmark", "run", "--dataset", "basic-coding", "--metrics", "correctness", "--rubric", "code-review"
    )

    assert done.code == 2
    assert "has a score or flag called 'correctness'" in done.err
