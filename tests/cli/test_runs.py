"""`prompt-evaluator runs`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from entries import each
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_without_runs_the_list_says_how_to_start_one(project: Workspace) -> None:
    done = project.run("runs", "list")

    assert done.code == 0
    assert done.out.startswith("No runs yet. Start one: prompt-evaluator evaluate-dataset")
    assert project.run("runs", "list", "--json").json == {"runs": [], "next": None}


def test_a_run_is_listed_shown_exported_and_deleted_by_the_start_of_its_id(project: Workspace) -> None:
    run_id = project.evaluate("-n", "1", "--run-note", "a note").run_id
    short = run_id[:8]

    listed = project.run("runs", "list").out
    header, line, _ = listed.splitlines()
    assert header.split()[:4] == ["Run", "Status", "Dataset", "Target"]
    assert line.split()[:3] == [short, "completed", "data"]
    assert project.run("runs", "list", "--json").json["runs"][0]["run_id"] == run_id

    assert "semantic_fidelity" in project.run("runs", "show", short).out
    assert project.run("runs", "show", short, "--json").json["totals"]["samples"] == {"completed": 3}

    exported = project.run("runs", "export", short)
    assert [json.loads(line)["test_case_id"] for line in exported.out.splitlines()] == [
        "case-000",
        "case-001",
        "case-002",
    ]

    assert project.run("runs", "delete", short, "--yes").out == f"Deleted {run_id}.\n"
    assert project.run("runs", "list", "--json").json == {"runs": [], "next": None}


def test_nothing_is_deleted_without_confirmation(project: Workspace) -> None:
    run_id = project.evaluate("-n", "1").run_id

    done = project.run("runs", "delete", run_id)

    assert done.code != 0
    assert project.run("runs", "list", "--json").json["runs"][0]["run_id"] == run_id


@each("command", [("show",), ("watch",), ("delete", "--yes"), ("export",), ("rebuild",)])
def test_an_unknown_run_is_refused_with_the_nearest(project: Workspace, command: tuple[str, ...]) -> None:
    run_id = project.evaluate("-n", "1").run_id
    wrong = run_id[:-1] + ("0" if run_id[-1] != "0" else "1")

    done = project.run("runs", *command, wrong)

    assert done.code == 2
    assert done.out == ""
    assert done.err == f"Error: There is no run {wrong!r}. Did you mean {run_id!r}?\n"


def test_a_file_is_not_lost_to_an_export_of_an_unknown_run(project: Workspace) -> None:
    project.write("samples.csv", "mine")

    done = project.run("runs", "export", "abcdef", "--format", "csv", "-o", "samples.csv")

    assert done.code == 2
    assert (project.folder / "samples.csv").read_text() == "mine"


def test_an_export_goes_to_a_file_or_says_why_not(project: Workspace) -> None:
    run_id = project.evaluate("-n", "1").run_id

    assert project.run("runs", "export", run_id, "--format", "csv", "-o", "made/samples.csv").code == 0
    assert (project.folder / "made/samples.csv").read_text().startswith("test_case_id,sample_id,status,")
    done = project.run("runs", "export", run_id, "-o", "made/samples.csv/samples.jsonl")
    assert done.code == 2
    assert "made/samples.csv/samples.jsonl: cannot write the file: made/samples.csv is not a folder." in done.err


def test_rebuild_names_each_run_with_its_status(project: Workspace) -> None:
    run_id = project.evaluate("-n", "1").run_id
    main = project.folder / "runs" / run_id / "dataset_evaluation.json"
    before = main.read_bytes()
    main.unlink()

    done = project.run("runs", "rebuild")

    assert done.out == f"{run_id}: completed\n"
    assert main.read_bytes() == before


def test_runs_are_those_of_the_configuration_that_is_named(project: Workspace) -> None:
    project.write("other/prompt_evaluator.yaml", "num_samples: 1\n")
    run_id = project.evaluate("-c", "other/prompt_evaluator.yaml").run_id

    assert project.run("runs", "list", "--json").json == {"runs": [], "next": None}
    other = project.run("runs", "list", "--json", "-c", "other/prompt_evaluator.yaml").json
    assert [run["run_id"] for run in other["runs"]] == [run_id]
