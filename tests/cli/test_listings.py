"""`prompt-evaluator list`: datasets, suites, rubrics, metrics and providers."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from entries import each

from prompt_evaluator.metrics.catalogue import METRICS

if TYPE_CHECKING:
    from workspace import Workspace

TASK = "- {id: a, name: Short, input: x, expected_output: y, difficulty: hard}\n"
RUBRIC = "metrics: [{name: kind, description: Is it kind?, guidelines: Look at the words.}]\nflags: []\n"
NIGHTLY: dict[str, Any] = {
    "title": "Every night",
    "datasets": ["own", "drinks"],
    "models": ["mock/a", "mock/b"],
    "metrics": ["similarity", {"metric": "length", "max_words": 500, "name": "short"}],
    "judge": "mock/judge",
    "samples": 2,
}


@pytest.fixture
def project(offline: Workspace) -> Workspace:
    offline.write("benchmarks/own.yaml", f"name: Our own\ndescription: About x.\ntasks:\n{TASK}")
    offline.write("benchmarks/broken.yaml", "tasks: 3\n")
    offline.write("data/tea.yaml", f"name: Tea\ntasks:\n{TASK}")
    offline.write("r/mine.yaml", RUBRIC)
    offline.configure(
        dataset_paths={"drinks": "data/tea.yaml", "gone": "data/gone.yaml"},
        rubrics={"mine": "r/mine.yaml"},
        suites={
            "nightly": NIGHTLY,
            "wrong": {"datasets": ["onw"], "models": ["mock/a"], "rubric": "code-review"},
        },
    )
    return offline


def listed(project: Workspace, *arguments: str) -> Any:
    return project.run("list", *arguments, "--json").json


def test_datasets_are_listed_with_their_origin_and_size_or_their_error(project: Workspace) -> None:
    done = project.run("list", "datasets")

    assert done.code == 0
    lines = {line.split()[0]: line for line in done.out.splitlines()}
    assert list(lines) == ["basic-coding", "broken", "drinks", "gone", "own", "retrieval-qa", "tool-use-basic"]
    assert lines["own"].split() == ["own", "project", "1", "task", "Our", "own"]
    assert lines["drinks"].split() == ["drinks", "configured", "1", "task", "Tea"]
    assert lines["basic-coding"].split() == ["basic-coding", "shipped", "12", "tasks", "Basic", "Coding"]
    assert "error: " in lines["broken"]
    assert "gone.yaml: file not found" in lines["gone"]
    assert [each["name"] for each in listed(project, "datasets")["datasets"]] == list(lines)


def test_titles_are_cut_to_one_line_that_fits_the_terminal(offline: Workspace) -> None:
    offline.write("benchmarks/own.yaml", f"name: {'Our own ' * 20}\ntasks:\n{TASK}")
    offline.write("benchmarks/odd.yaml", f'name: "two\\nlines\\e[2J"\ntasks:\n{TASK}')

    lines = offline.run("list", "datasets").out.splitlines()

    assert lines[1].endswith("two�lines�[2J")
    assert lines[2].startswith("own             project  1 task    Our own Our own")
    assert all(len(line) <= 80 for line in lines)


def test_a_file_name_that_is_not_utf_8_hides_nothing(offline: Workspace) -> None:
    offline.write("benchmarks/own.yaml", f"tasks:\n{TASK}")
    (offline.folder / "benchmarks" / os.fsdecode(b"t\xff.yaml")).write_text(f"tasks:\n{TASK}")

    assert listed(offline, "datasets")["datasets"][-1]["name"] == "t\ufffd"
    assert offline.run("list", "datasets").code == 0


def test_a_dataset_is_shown_with_its_tasks(project: Workspace) -> None:
    assert project.run("list", "datasets", "own").out.splitlines()[1:] == ["About x.", "  a  Short  (hard)"]
    assert [task["id"] for task in listed(project, "datasets", "drinks")["tasks"]] == ["a"]


def test_a_folder_may_be_configured_and_the_configuration_named(offline: Workspace) -> None:
    offline.write("other/prompt_evaluator.yaml", "benchmark: {datasets_dir: mine}\n")
    offline.write("other/mine/own.yaml", f"tasks:\n{TASK}")

    assert offline.run("list", "datasets", "own", "-c", "other/prompt_evaluator.yaml").code == 0
    assert offline.run("list", "datasets", "own").code == 2


def test_suites_are_listed_with_what_is_in_each(project: Workspace) -> None:
    done = project.run("list", "suites")

    assert done.code == 0
    assert done.out.splitlines() == [
        "nightly: Every night (4 runs)",
        "  datasets  own, drinks",
        "  models    mock/a, mock/b",
        '  metrics   similarity, length(name="short", max_words=500)',
        "  judge     mock/judge",
        "  samples   2",
        "",
        "wrong (1 run)",
        "  datasets  onw",
        "  models    mock/a",
        "  rubric    code-review",
        "  error: There is no dataset 'onw'. Did you mean 'own'?",
    ]
    assert [each["name"] for each in listed(project, "suites")["suites"]] == ["nightly", "wrong"]
    found = listed(project, "suites", "nightly")
    assert {key: found[key] for key in NIGHTLY} == NIGHTLY


def test_without_suites_the_list_is_empty_and_says_where_they_go(offline: Workspace) -> None:
    assert "under `suites:`" in offline.run("list", "suites").err
    assert listed(offline, "suites") == {"suites": []}


def test_rubrics_are_listed_and_shown_by_name_or_path(project: Workspace) -> None:
    found = {rubric["name"]: rubric["path"] for rubric in listed(project, "rubrics")["rubrics"]}

    shipped = dict.fromkeys(("code-review", "content-quality", "default"))
    assert found == {**shipped, "mine": str(project.folder / "r/mine.yaml")}
    for name in ("mine", "r/mine.yaml"):
        assert "kind (1 to 5)\n  Is it kind?\n    Look at the words." in project.run("list", "rubrics", name).out
        assert listed(project, "rubrics", name)["metrics"][0]["name"] == "kind"


def test_metrics_are_listed_with_what_they_need_and_whether_they_ask_a_judge(offline: Workspace) -> None:
    found = {metric["name"]: metric for metric in listed(offline, "metrics")["metrics"]}

    assert set(found) == {*METRICS.names(), "python:module:function", "command:program"}
    assert all(metric["help"] and metric["error"] is None for metric in found.values())
    assert found["includes"]["needs"] == ["phrases"]
    judges = {name: found[name]["judge"] for name in ("includes", "correctness", "tool_correctness")}
    assert judges == {"includes": "no", "correctness": "needed", "tool_correctness": "optional"}
    assert found["python:module:function"]["judge"] == "no"
    assert len(offline.run("list", "metrics").out.splitlines()) == 2 * len(found)


def test_a_metric_is_shown_with_its_options(offline: Workspace) -> None:
    first, needs, options = offline.run("list", "metrics", "regex").out.splitlines()

    assert first.startswith("regex  `pattern` occurs in the answer")
    assert needs.strip() == "needs pattern; no judge"
    assert "flags" in options
    assert listed(offline, "metrics", "regex")["name"] == "regex"


def test_a_provider_is_shown_alone(offline: Workspace) -> None:
    done = offline.run("list", "providers", "mock")

    assert done.out.splitlines()[0] == "mock  no key needed"
    assert listed(offline, "providers", "mock")["kind"] == "mock"


@each("kind", ["dataset", "suite", "rubric", "metric", "provider"])
def test_an_unknown_name_is_refused_with_the_nearest_or_all(project: Workspace, kind: str) -> None:
    done = project.run("list", f"{kind}s", "nightyl")

    assert (done.code, done.out) == (2, "")
    assert f"There is no {kind} 'nightyl'." in done.err
