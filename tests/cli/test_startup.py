"""The command line starts quickly because it loads nothing that it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator import __version__

if TYPE_CHECKING:
    from pathlib import Path

HEAVY = {"httptools", "numpy", "sqlalchemy", "litestar", "rich", "yaml", "msgspec"}
ROOMS = {"prompt_evaluator.app", "prompt_evaluator.datasets", "prompt_evaluator.model", "prompt_evaluator.reports"}
MAKING_RUNS = {
    *("alembic", "httptools", "numpy", "prompt_evaluator.pipeline", "prompt_evaluator.engines"),
    *("prompt_evaluator.datasets", "prompt_evaluator.metrics.catalogue", "prompt_evaluator.providers.calls"),
}
PROGRAM = """
import sys
from prompt_evaluator.cli.main import main
sys.argv = ["prompt-evaluator", *sys.argv[1:]]
try:
    main()
finally:
    print(*sys.modules, sep="\\n", file=sys.stderr)
"""


def run(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder)


@pytest.mark.parametrize("option", ["--help", "-h", "--version"])
def test_help_and_version_load_nothing_heavy(option: str) -> None:
    done = run(option)

    assert done.returncode == 0
    assert (HEAVY | ROOMS).isdisjoint(done.stderr.split("\n"))
    assert "prompt_evaluator.cli.main" in done.stderr.split("\n")


def test_validating_jsonl_does_not_load_yaml() -> None:
    done = run("validate", "no-such-file.jsonl")

    assert done.returncode == 2
    assert "msgspec" in done.stderr.split("\n")
    assert "yaml" not in done.stderr.split("\n")


@pytest.mark.parametrize("arguments", ["list", "show none", "show none --failing", "watch none"])
def test_asking_about_stored_runs_loads_nothing_that_runs_are_made_with(arguments: str, tmp_path: Path) -> None:
    run("runs", "list", folder=tmp_path)  # makes the store, which takes more

    done = run("runs", *arguments.split(), folder=tmp_path)

    loaded = set(done.stderr.split("\n"))
    assert "prompt_evaluator.store.ledger" in loaded
    assert MAKING_RUNS & loaded == set()


@pytest.mark.parametrize("command", ["compare", "compare-runs -b"])
def test_comparing_files_loads_no_database_and_nothing_that_runs_are_made_with(command: str, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        scores = [{"judge_metrics": {"tone": {"score": 4}}}]
        (tmp_path / name).write_text(json.dumps({"test_case_results": [{"test_case_id": "1", "samples": scores}]}))
    names = ["a.json", *(["-c"] if "-b" in command else []), "b.json"]

    done = run(*command.split(), *names, folder=tmp_path)

    assert done.stdout.startswith("⚠ Cannot tell: 1 common case; at least 5 are needed.")
    assert (MAKING_RUNS | {"sqlalchemy", "prompt_evaluator.store.ledger"}) & set(done.stderr.split("\n")) == set()


def test_help_lists_the_commands() -> None:
    assert "validate" in run("--help").stdout


def test_version_is_the_packages_own() -> None:
    assert run("--version").stdout == f"prompt-evaluator, version {__version__}\n"


def test_one_run_loads_nothing_that_groups_and_comparisons_need(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("Be kind.")

    done = run("evaluate-dataset", "-d", "none.jsonl", "-s", "p.txt", folder=tmp_path)

    assert done.returncode == 2
    of_several = {"prompt_evaluator.app.groups", "prompt_evaluator.cli.matrix", "prompt_evaluator.compare"}
    assert of_several.isdisjoint(done.stderr.split("\n"))
