"""`prompt-evaluator labels`."""

from __future__ import annotations

import csv
import json
from typing import TYPE_CHECKING

import pytest
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture
def run_id(project: Workspace) -> str:
    """A run with one sample of each of three cases."""
    return project.evaluate("-n", "1").run_id


def table(run_id: str, *lines: str) -> str:
    header = "run_id,test_case_id,sample,metric,value,comment\n"
    return header + "".join(f"{run_id},{line}\n" for line in lines)


def test_labels_go_in_once_and_come_out_again(project: Workspace, run_id: str) -> None:
    rows = ("case-000,1,semantic_fidelity,4,fine", "case-001,1,invented_constraints,yes,=2")
    project.write("labels.csv", table(run_id[:8], *rows))

    first = project.run("labels", "import", "labels.csv", "--reviewer", "anna")
    again = project.run("labels", "import", "labels.csv", "--reviewer", "anna")

    assert (first.code, first.out) == (0, "Added 2 labels.\n")
    assert (again.code, again.out) == (0, "Nothing to add: 2 labels were already in the store.\n")
    exported = project.run("labels", "export", run_id[:8])
    found = [json.loads(line) for line in exported.out.splitlines()]
    assert [(each["sample_id"], each["value"], each["reviewer"]) for each in found] == [
        ("case-000-sample-1", 4.0, "anna"),
        ("case-001-sample-1", 1.0, "anna"),
    ]


def test_the_format_of_an_export_follows_its_file_name_unless_given(project: Workspace, run_id: str) -> None:
    project.write("labels.csv", table(run_id, "case-000,1,semantic_fidelity,4,=2"))
    project.run("labels", "import", "labels.csv", "--reviewer", "anna")

    for output, more in (("a.csv", ()), ("a.jsonl", ()), ("a.txt", ("--format", "csv"))):
        assert project.run("labels", "export", "-o", output, *more).code == 0

    (row,) = csv.DictReader((project.folder / "a.csv").read_text().splitlines())
    assert (row["run_id"], row["comment"]) == (run_id, "'=2")
    assert json.loads((project.folder / "a.jsonl").read_bytes())["comment"] == "=2"
    assert (project.folder / "a.txt").read_bytes() == (project.folder / "a.csv").read_bytes()
    assert project.run("labels", "import", "a.csv").out == "Nothing to add: 1 label was already in the store.\n"


def test_an_export_of_an_unknown_run_keeps_the_file_that_is_there(project: Workspace, run_id: str) -> None:
    project.write("labels.jsonl", "mine")

    done = project.run("labels", "export", f"{run_id}0", "-o", "labels.jsonl")

    assert done.code == 2
    assert done.err == f"Error: There is no run '{run_id}0'. Did you mean '{run_id}'?\n"
    assert (project.folder / "labels.jsonl").read_text() == "mine"


def test_a_labelled_run_is_deleted_only_with_its_labels(project: Workspace, run_id: str) -> None:
    project.write("labels.csv", table(run_id, "case-000,1,semantic_fidelity,4,"))
    project.run("labels", "import", "labels.csv", "--reviewer", "anna")

    kept = project.run("runs", "delete", run_id, "--yes")
    there = (project.folder / "runs" / run_id).is_dir()
    gone = project.run("runs", "delete", run_id, "--yes", "--with-labels")

    assert (kept.code, kept.out, there) == (2, "", True)
    assert kept.err == (
        f"Error: Run {run_id} has 1 label. Keep a copy with `prompt-evaluator labels export {run_id}`, then pass "
        "--with-labels to delete the run and its labels.\n"
    )
    assert (gone.code, gone.out) == (0, f"Deleted {run_id}.\n")
    assert project.run("labels", "export").out == ""
