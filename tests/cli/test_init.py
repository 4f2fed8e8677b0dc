"""A new project runs right away, and existing files are not lost."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
import yaml
from workspace import Workspace

from prompt_evaluator.app.init import COMMAND, FILES

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def fresh(tmp_path: Path) -> Workspace:
    """A folder of its own below the one that commands run in."""
    return Workspace(tmp_path)


def inside(fresh: Workspace, name: str = "new") -> Workspace:
    found = Workspace(fresh.folder / name, fresh.environment)
    for extra in ("prompt.txt", "data.jsonl"):
        (found.folder / extra).unlink()
    return found


def test_a_new_project_is_complete_and_says_what_to_do_next(fresh: Workspace) -> None:
    done = fresh.run("init", "new")

    assert done.code == 0
    assert {
        str(path.relative_to(fresh.folder / "new")) for path in (fresh.folder / "new").rglob("*") if path.is_file()
    } == {
        *FILES,
        ".gitignore",
    }
    assert f"Next: cd new\n      {COMMAND}\n" in done.out


def test_a_new_project_is_valid_in_every_part(fresh: Workspace) -> None:
    fresh.run("init", "new")
    project = inside(fresh)

    validated = project.run("validate", "datasets/support.yaml", "--json").json["files"][0]
    assert validated["ok"]
    assert validated["count"] >= 6
    shown = project.run("list", "rubrics", "support", "--json").json
    assert [metric["name"] for metric in shown["metrics"]] == ["correct", "helpful", "tone"]
    assert project.run("doctor").code == 0
    settings = {found["name"]: found for found in project.run("config", "show", "--json").json["settings"]}
    assert settings["rubric"]["value"] == str(project.folder / "rubrics/support.yaml")
    assert settings["rubric"]["origin"].startswith("prompt_evaluator.yaml, line ")
    workflow = yaml.safe_load((project.folder / ".github/workflows/evaluate.yml").read_text())
    steps = [step.get("run", "") for step in workflow["jobs"]["evaluate"]["steps"]]
    assert any(COMMAND in step for step in steps)


@pytest.mark.parametrize(("source", "code"), [("", 1), ("./a wheel.whl", 0)])
def test_the_workflow_installs_only_what_its_owner_names(fresh: Workspace, source: str, code: int) -> None:
    fresh.run("init", "new")
    fresh.write("bin/python", '#!/bin/sh\nprintf "%s|" "$@" >> called\n').chmod(0o755)
    (job,) = yaml.safe_load((fresh.folder / "new/.github/workflows/evaluate.yml").read_text())["jobs"].values()
    install = next(step for step in job["steps"] if step.get("name") == "Install prompt-evaluator")

    done = subprocess.run(
        ["/bin/bash", "-e", "-c", install["run"]],
        cwd=fresh.folder,
        env={"SOURCE": source, "PATH": f"{fresh.folder}/bin:/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    called = fresh.folder / "called"
    assert done.returncode == code
    assert ("PROMPT_EVALUATOR_SOURCE" in done.stdout) == (not source)
    assert (called.read_text() if called.exists() else "") == (f"-m|pip|install|--|{source}|" if source else "")
    assert "OPENAI_API_KEY" not in job["env"]


def test_a_new_project_runs_offline_with_short_names(fresh: Workspace) -> None:
    fresh.run("init", "new")
    project = inside(fresh)

    done = project.run(*COMMAND.split()[1:], "--quick", "--json")

    assert done.code == 0, done.err
    assert done.json["status"] == "completed"
    assert set(done.json["overall_metric_stats"]) == {"correct", "helpful", "tone"}


def test_the_configuration_holds_also_with_its_examples_in_use(fresh: Workspace) -> None:
    fresh.run("init", "new")
    path = fresh.folder / "new" / "prompt_evaluator.yaml"
    before, found, after = path.read_text().partition("# providers:")
    path.write_text(before + (found + after).removeprefix("# ").replace("\n# ", "\n"))

    done = fresh.run("config", "show", "--json", "-c", "new/prompt_evaluator.yaml")

    assert done.code == 0, done.err
    assert {found["name"] for found in done.json["providers"]} >= {"team", "openai", "mock"}


def test_files_in_the_way_are_named_and_left_alone(fresh: Workspace) -> None:
    fresh.write("prompts/system.txt", "mine")

    done = fresh.run("init")

    assert done.code == 2
    assert "prompts/system.txt" in done.err
    assert "--force" in done.err
    assert (fresh.folder / "prompts/system.txt").read_text() == "mine"
    assert not (fresh.folder / "prompt_evaluator.yaml").exists()


def test_force_replaces_them(fresh: Workspace) -> None:
    fresh.write("prompts/system.txt", "mine")

    done = fresh.run("init", "--force")

    assert done.code == 0
    assert (fresh.folder / "prompts/system.txt").read_text() != "mine"
    assert f"Next: {COMMAND}\n" in done.out


def test_gitignore_is_added_to_and_never_replaced(fresh: Workspace) -> None:
    fresh.write(".gitignore", "*.log\nruns/\n/caf\xe9".encode("latin-1"))

    fresh.run("init")
    fresh.run("init", "--force")

    assert (fresh.folder / ".gitignore").read_bytes() == b"*.log\nruns/\n/caf\xe9\n.prompt_evaluator/\n.env\n"


def test_a_file_instead_of_the_folder_is_refused(fresh: Workspace) -> None:
    done = fresh.run("init", "prompt.txt/below")

    assert done.code == 2
    assert "cannot be written" in done.err
