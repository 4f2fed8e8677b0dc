"""The code of a function or program is part of what it is: answers of another version are not its answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

FUNCTION = """
from pathlib import Path
from parts import ending

def answer(question):
    with Path("calls.txt").open("a") as log:
        log.write("x")
    return question + ending
"""
PROGRAM = """
import json, sys
with open("calls.txt", "a") as log:
    log.write("x")
print(json.dumps({"text": json.load(sys.stdin)["prompt"] + "!"}))
"""
TARGETS = {"python:agent:answer": "parts.py", "command:python3 agent.py": "agent.py"}
"""And the file to edit, which the function only imports."""


@pytest.fixture(params=TARGETS)
def target(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def project(tmp_path: Path, target: str) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.write("agent.py", FUNCTION if target.startswith("python:") else PROGRAM)
    workspace.write("parts.py", "ending = '!'\n")
    return workspace


def evaluate(project: Workspace, target: str, *arguments: str) -> Any:
    judge = ("--judge-model", "mock/default", "--allow-mock-judge")
    return project.evaluate("--generator-model", target, *judge, "-n", "2", *arguments)


def calls(project: Workspace) -> int:
    return len((project.folder / "calls.txt").read_text())


def edit(project: Workspace, target: str) -> None:
    path = project.folder / TARGETS[target]
    # One character longer: within a second, Python notices no other change of a module.
    path.write_text(path.read_text().replace("!", "?") + "\n")


def test_answers_are_reused_until_the_code_is_edited(project: Workspace, target: str) -> None:
    evaluate(project, target)
    assert calls(project) == 6

    same = evaluate(project, target, "--reuse")
    assert calls(project) == 6
    assert same.artifact["totals"]["reused_units"]

    edit(project, target)
    other = evaluate(project, target, "--reuse")

    assert calls(project) == 12
    samples = [sample for case in other.artifact["test_case_results"] for sample in case["samples"]]
    assert {sample["generator_output"][-1] for sample in samples} == {"?"}


def test_a_run_is_not_continued_with_other_code(project: Workspace, target: str) -> None:
    stopped = evaluate(project, target, "--max-calls", "2")
    made = calls(project)
    edit(project, target)

    refused = project.run("resume", stopped.run_id)

    assert refused.code == 2
    words = " ".join(refused.err.split())
    assert re.search(rf"The program's code has changed since run {stopped.run_id} was started", words)
    assert re.search(
        rf"{target} was [0-9a-f]{{16}} and is now [0-9a-f]{{16}}\. Restore it, or start a new run\.", words
    )
    assert calls(project) == made

    path = project.folder / TARGETS[target]
    path.write_text(path.read_text().replace("?", "!").removesuffix("\n"))

    assert project.run("resume", stopped.run_id).code == 0
    assert calls(project) == 6


@pytest.mark.parametrize("target", ["python:agent:answer"], indirect=True)
def test_a_run_whose_code_is_gone_says_what_is_missing(project: Workspace, target: str) -> None:
    stopped = evaluate(project, target, "--max-calls", "2")
    (project.folder / "agent.py").unlink()

    refused = project.run("resume", stopped.run_id)

    assert refused.code == 2
    assert "Module `agent` not found" in " ".join(refused.err.split())
