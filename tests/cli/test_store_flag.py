"""`--store`, with every command that makes or reads runs."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner
from workspace import Workspace

from prompt_evaluator.cli.main import cli
from prompt_evaluator.cli.settings_options import settings_options, without_password

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

VARIABLE = "PROMPT_EVALUATOR_STORE"
WITHOUT_RUNS = {
    *("init", "validate", "config path", "config show", "list", "providers test"),
}


@pytest.fixture
def project(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def commands(group: click.Command, name: str = "") -> Iterator[tuple[str, click.Command]]:
    if not isinstance(group, click.Group):
        yield name, group
        return
    context = click.Context(group)
    for each in group.list_commands(context):
        found = group.get_command(context, each)
        assert found is not None
        yield from commands(found, f"{name} {each}".strip())


def test_every_command_that_makes_or_reads_runs_has_the_flag() -> None:
    with_config = {
        name: command for name, command in commands(cli) if any(p.name == "config_path" for p in command.params)
    }
    without = {name for name, command in with_config.items() if all("--store" not in p.opts for p in command.params)}

    assert len(with_config) > 20
    assert without <= WITHOUT_RUNS


def test_a_run_is_made_and_read_in_the_named_store_only(project: Workspace) -> None:
    run_id = project.evaluate("-n", "1", "--store", "elsewhere.db").run_id

    assert (project.folder / "elsewhere.db").exists()
    assert not (project.folder / ".prompt_evaluator/store.db").exists()
    assert project.run("runs", "list", "--json").json["runs"] == []
    assert project.run("runs", "show", run_id, "--json", "--store", "elsewhere.db").json["run_id"] == run_id


def test_the_flag_counts_more_than_the_variable_and_the_file(tmp_path: Path) -> None:
    project = Workspace(tmp_path, {VARIABLE: "variable.db"})
    project.configure(store="file.db")

    project.evaluate("-n", "1", "--store", "flag.db")

    assert [path.name for path in sorted(tmp_path.glob("*.db"))] == ["flag.db"]


def test_what_to_do_next_names_the_store(project: Workspace) -> None:
    limited = ("-n", "2", "--max-calls", "4", "--store", "my runs.db")
    done = project.run("evaluate-dataset", "-d", "data.jsonl", "-s", "prompt.txt", *limited)
    command = done.words.partition(" Next ")[2]
    assert "resume" in command
    assert "--store 'my runs.db'" in command

    again = subprocess.run(
        ["/bin/sh", "-c", command.partition("Next")[2] or command],
        cwd=project.folder,
        env=project.environment,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert again.returncode == 0, again.stderr


def test_the_variable_is_as_before_once_the_command_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []

    @click.command
    @settings_options
    def look(config_path: Path | None) -> None:
        assert config_path is None
        seen.append(os.environ.get(VARIABLE))

    for before in (None, "before.db"):
        if before:
            monkeypatch.setenv(VARIABLE, before)
        else:
            monkeypatch.delenv(VARIABLE, raising=False)
        assert CliRunner().invoke(look, ["--store", "during.db"]).exit_code == 0
        assert os.environ.get(VARIABLE) == before
    assert seen == ["during.db", "during.db"]


@pytest.mark.parametrize(
    ("store", "shown"),
    [
        ("runs.db", "runs.db"),
        ("/data/my:runs@home.db", "/data/my:runs@home.db"),
        ("postgresql://db.example/runs", "postgresql://db.example/runs"),
        ("postgresql://me@db.example:5433/runs", "postgresql://me@db.example:5433/runs"),
        ("postgresql://me:s3cret@db.example/runs", "postgresql://me@db.example/runs"),
        ("postgresql://me:p%40ss@db.example/runs?password=other", "postgresql://me@db.example/runs"),
        (
            "postgresql://db.example/runs?sslmode=verify-full&sslpassword=other",
            "postgresql://db.example/runs?sslmode=verify-full",
        ),
        ("postgresql://me:s3cret@[bad/runs", "postgresql://"),
    ],
)
def test_a_password_is_not_kept_with_the_command(store: str, shown: str) -> None:
    assert without_password(store) == shown
