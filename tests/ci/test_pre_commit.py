"""The hook for pre-commit, started as pre-commit starts it: with the staged files that its pattern matches."""

from __future__ import annotations

import re
import shlex
import subprocess
from typing import TYPE_CHECKING

import yaml
from composite_action import ROOT
from entries import each
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

    from workspace import Done

[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
GOOD = "- id: one\n  input: Why?\n"


def commit(folder: Path) -> Done:
    """Run the hook on what is staged."""
    git = ("git", "-C", str(folder))
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    names = subprocess.run([*git, "diff", "--cached", "--name-only"], check=True, capture_output=True, text=True).stdout
    staged = [name for name in names.splitlines() if re.search(HOOK["files"], name)]
    program, *arguments = shlex.split(HOOK["entry"])
    assert program == "prompt-evaluator"
    return Workspace(folder).run(*arguments, *staged)


def test_valid_datasets_pass(tmp_path: Path) -> None:
    Workspace(tmp_path).write("datasets/support.yaml", GOOD)

    assert commit(tmp_path).code == 0


def test_a_broken_dataset_stops_the_commit_and_is_named_with_its_line(tmp_path: Path) -> None:
    project = Workspace(tmp_path)
    project.write("datasets/support.yaml", GOOD)
    project.write("evals/deep/broken.yaml", f"{GOOD}- input: What?\n")
    done = commit(tmp_path)

    assert done.code == 2
    assert "evals/deep/broken.yaml:3" in done.out + done.err


@each(
    ("name", "matches"),
    [
        ("datasets/a.yaml", True),
        ("datasets/a.jsonl", True),
        ("evals/tasks/a.json", True),
        ("prompt_evaluator.yaml", False),
        (".github/workflows/ci.yml", False),
        ("datasets/README.md", False),
    ],
)
def test_only_datasets_are_looked_at(name: str, matches: bool) -> None:  # noqa: FBT001 - a table
    assert bool(re.search(HOOK["files"], name)) is matches
