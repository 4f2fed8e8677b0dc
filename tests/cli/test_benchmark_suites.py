"""`benchmark run --suite`, as somebody types it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

TASK = "- {id: a, name: Short, input: x, expected_output: y}\n"
NIGHTLY: dict[str, Any] = {
    "title": "Every night",
    "datasets": ["own", "drinks"],
    "models": ["mock/a", "mock/b"],
    "metrics": ["similarity", {"metric": "length", "max_words": 500, "name": "short"}],
    "judge": "mock/judge",
    "samples": 2,
}


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.write("benchmarks/own.yaml", f"tasks:\n{TASK}")
    workspace.write("tea.yaml", f"tasks:\n{TASK}")
    wrong = {"datasets": ["onw"], "models": ["mock/a"], "rubric": "code-review"}
    workspace.configure(dataset_paths={"drinks": "tea.yaml"}, suites={"nightly": NIGHTLY, "wrong": wrong})
    return workspace


def test_a_suite_runs_every_model_on_every_dataset(project: Workspace) -> None:
    done = project.run("benchmark", "run", "--suite", "nightly", "--json")

    assert done.code == 0, done.err
    group = done.json["group"]
    assert (group["datasets"], group["models"]) == (["own", "drinks"], ["mock/a", "mock/b"])
    for run in done.json["runs"]:
        artifact = project.artifact(run["run_id"])
        assert set(artifact["overall_metric_stats"]) == {"similarity", "short"}
        assert artifact["num_samples_per_case"] == 2
        assert artifact["generator_config"]["temperature"] == 0


def test_what_is_typed_goes_before_the_suite(project: Workspace) -> None:
    typed = ("--model", "mock/c", "--metrics", "exact_match", "-n", "1", "--json")
    done = project.run("benchmark", "run", "--suite", "nightly", *typed)

    group = done.json["group"]
    assert (group["datasets"], group["models"]) == (["own", "drinks"], ["mock/c"])
    artifact = project.artifact(done.json["runs"][0]["run_id"])
    assert set(artifact["overall_metric_stats"]) == {"exact_match"}
    assert artifact["num_samples_per_case"] == 1


@each(
    ("arguments", "sentence"),
    [
        (("--suite", "nigthly"), "There is no suite 'nigthly'. Did you mean 'nightly'?"),
        (("--suite", "wrong"), "There is no dataset 'onw'. Did you mean 'own'?"),
        (("--suite", "nightly", "--dataset", "own"), "--suite and --dataset cannot be combined"),
        ((), "Name datasets with --dataset, or a suite with --suite."),
    ],
    ids=["unknown suite", "unknown dataset", "both", "neither"],
)
def test_a_mistake_is_refused_before_anything_is_run(
    arguments: tuple[str, ...], sentence: str, project: Workspace
) -> None:
    done = project.run("benchmark", "run", *arguments)

    assert done.code == 2
    assert sentence in done.err
    assert project.run("runs", "list", "--json").json["runs"] == []


def test_config_show_has_the_suites_with_their_lines(project: Workspace) -> None:
    assert "2 datasets, 2 models" in project.run("config", "show").out
    assert [each["name"] for each in project.run("config", "show", "--json").json["suites"]] == ["nightly", "wrong"]
