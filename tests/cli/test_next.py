"""What a summary says to do next is pasted into a shell, and does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from workspace import Done, Workspace

INSTALLED = Path(sys.executable).with_name("prompt-evaluator")


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    project = Workspace(tmp_path)
    project.cases(3)
    return project


def paste(project: Workspace, command: str) -> Done:
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def test_a_stopped_run_is_continued_by_the_printed_command(project: Workspace) -> None:
    stopped = project.run("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", "--max-calls", "4")

    again = paste(project, stopped.out.partition("\nNext ")[2])

    assert again.code == 0, again.err
    assert project.run("runs", "list", "--json").json["runs"][0]["status"] == "completed"


def test_the_printed_command_starts_this_program_wherever_it_is(project: Workspace) -> None:
    project.environment["PATH"] = os.defpath

    assert f"Start one: {INSTALLED} evaluate-dataset" in paste(project, f"{INSTALLED} runs list").out
    assert f"Start one: {sys.executable} -m prompt_evaluator evaluate-dataset" in project.run("runs", "list").out


def test_what_only_uv_has_put_on_the_path_is_named_by_its_path(project: Workspace) -> None:
    project.environment["UV_RUN_RECURSION_DEPTH"] = "1"

    assert f"Start one: {INSTALLED} evaluate-dataset" in paste(project, "prompt-evaluator runs list").out
