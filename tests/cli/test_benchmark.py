"""`prompt-evaluator benchmark`, as somebody types it."""

from __future__ import annotations

import os
import re
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


def test_the_list_names_every_benchmark_with_its_size_or_its_error(project: Workspace) -> None:
    project.write("benchmarks/own.yaml", f"tasks:\n{TASK}")
    project.write("benchmarks/broken.yaml", "tasks: 3\n")

    done = project.run("benchmark", "list")

    assert done.code == 0
    lines = {line.split()[0]: line for line in done.out.splitlines()}
    assert list(lines) == ["basic-coding", "broken", "own", "retrieval-qa", "tool-use-basic"]
    assert lines["own"].split() == ["own", "project", "1", "task"]
    assert lines["basic-coding"].split() == ["basic-coding", "shipped", "12", "tasks", "Basic", "Coding"]
    assert "error: " in lines["broken"]
    found = project.run("benchmark", "list", "--json").json["benchmarks"]
    assert [each["name"] for each in found] == list(lines)


def test_the_list_shows_titles_in_one_line_each_that_fits_the_terminal(project: Workspace) -> None:
    project.write("benchmarks/own.yaml", f"name: {'Our own ' * 20}\ndescription: About x.\ntasks:\n{TASK}")
    project.write("benchmarks/odd.yaml", f'name: "two\\nlines\\e[2J"\ntasks:\n{TASK}')

    lines = project.run("benchmark", "list").out.splitlines()

    assert [line.split()[0] for line in lines] == ["basic-coding", "odd", "own", "retrieval-qa", "tool-use-basic"]
    assert lines[1].endswith("two�lines�[2J")
    assert lines[2].startswith("own             project  1 task    Our own Our own")
    assert all(len(line) <= 80 for line in lines)
    own = project.run("benchmark", "list", "--json").json["benchmarks"][2]
    assert (own["title"], own["description"]) == (("Our own " * 20).strip(), "About x.")


def test_a_dataset_with_a_configured_name_is_listed_shown_and_run(project: Workspace) -> None:
    project.configure(dataset_paths={"drinks": "data/tea.yaml", "gone": "data/gone.yaml"})
    project.write("data/tea.yaml", f"name: Tea\ntasks:\n{TASK}")

    lines = {line.split()[0]: line for line in project.run("benchmark", "list").out.splitlines()}

    assert lines["drinks"].split() == ["drinks", "configured", "1", "task", "Tea"]
    assert "gone.yaml: file not found" in lines["gone"]
    assert project.run("benchmark", "show", "drinks").code == 0
    done = project.run("benchmark", "run", "--dataset", "drinks", "--metrics", "similarity", "--json")
    assert [each["dataset"] for each in done.json["group"]["members"]] == ["drinks"]
    assert project.run("benchmark", "run", "--dataset", "data/tea.yaml", "--metrics", "similarity").code == 2


def test_a_file_name_that_is_not_utf_8_hides_nothing(project: Workspace) -> None:
    (project.folder / "benchmarks").mkdir()
    (project.folder / "benchmarks" / os.fsdecode(b"t\xff.yaml")).write_text(f"tasks:\n{TASK}")

    found = project.run("benchmark", "list", "--json").json["benchmarks"]

    assert [each["name"] for each in found] == ["basic-coding", "retrieval-qa", "tool-use-basic", "t\ufffd"]
    assert project.run("benchmark", "list").code == 0


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
    assert done.err == "Error: There is no dataset 'retrieval'. Did you mean 'retrieval-qa'?\n"


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
    assert "already has a score or flag named 'correctness'" in done.err


# Several models and datasets


def group_of(project: Workspace, *arguments: str) -> Done:
    return project.run("benchmark", "run", "--metrics", "similarity", *arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--dataset", "basic-coding,retrieval-qa", "--model", "mock/a,mock/b"),
        ("--dataset", "basic-coding", "--dataset", "retrieval-qa", "--model", "mock/a", "--model", "mock/b"),
        ("--dataset", "basic-coding, retrieval-qa,basic-coding", "--model", "mock/a", "--model", "mock/b,mock/a"),
    ],
    ids=["commas", "repeated", "both, and some twice"],
)
def test_models_and_datasets_are_repeated_or_separated_by_commas(
    project: Workspace, arguments: tuple[str, ...]
) -> None:
    group = group_of(project, *arguments, "--json").json["group"]

    assert (group["datasets"], group["models"]) == (["basic-coding", "retrieval-qa"], ["mock/a", "mock/b"])
    assert len(group["members"]) == 4


def test_a_group_ends_in_one_table_of_models_and_datasets(project: Workspace) -> None:
    done = group_of(project, "--dataset", "basic-coding,retrieval-qa", "--model", "mock/a,mock/b")

    *_, table = done.out.partition("── all 4 runs ──")
    lines = table.splitlines()
    assert "2 models on 2 datasets: 4 of 4 runs completed; $0, " in table
    assert ["basic-coding", "retrieval-qa"] in [line.split() for line in lines]
    (row, took) = (line for line in lines if line.startswith("  mock/a"))
    assert len(re.findall(r"✓ 0\.\d{3} \(0\.\d{3} to [01]\.\d{3}\)", row)) == 2
    assert len(re.findall(r"\$0, [\d.]+ s", took)) == 2
    assert all(len(line) < 80 for line in lines)


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


def test_the_table_shows_a_failure_with_its_reason(online: Workspace, service: ChatService) -> None:
    service.set(rules=[{"model": "unknown", "status": 404, "message": "never heard of it"}, {"text": "yes"}])
    for name in ("tea", "coffee"):
        online.cases(
            [{"id": f"{at}", "input": "x?", "reference": "yes"} for at in range(5)], f"benchmarks/{name}.jsonl"
        )

    models = "openai/unknown,openai/good"
    done = online.run("benchmark", "run", "--dataset", "tea,coffee", "--model", models, "--metrics", "exact_match")

    *_, table = done.out.partition("── all 4 runs ──")
    assert table.count("✗ failed") == 2
    assert "✗ openai/unknown failed on tea" in table
    assert "never heard of it" in " ".join(table.split())
    assert done.code == 3


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


def test_runs_without_a_judged_metric_never_say_judged_by(project: Workspace) -> None:
    done = group_of(project, "--dataset", "basic-coding", "--model", "mock/a,mock/b")
    planned = group_of(project, "--dataset", "basic-coding", "--model", "mock/a,mock/b", "--estimate")

    assert "judged" not in done.out + done.err + planned.out


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
