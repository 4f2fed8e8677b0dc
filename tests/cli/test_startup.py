"""The command line starts quickly because it loads nothing that it does not need."""

from __future__ import annotations

import subprocess
import sys
from pkgutil import iter_modules
from typing import TYPE_CHECKING

import pytest
import quick_start
from artifact_files import artifact, scored_case
from entries import each

from prompt_evaluator import __version__, cli

if TYPE_CHECKING:
    from pathlib import Path

    from workspace import Workspace

HEAVY = {"aiohttp", "numpy", "sqlalchemy", "litestar", "rich", "yaml", "msgspec"}
ROOMS = {"prompt_evaluator.app", "prompt_evaluator.datasets", "prompt_evaluator.model", "prompt_evaluator.reports"}
MAKING_RUNS = {
    *("aiohttp", "numpy", "prompt_evaluator.pipeline", "prompt_evaluator.engines"),
    *("prompt_evaluator.datasets", "prompt_evaluator.metrics.catalogue", "prompt_evaluator.calls"),
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
FIRST = """
import os, sys
from importlib import import_module
import aiohttp, click, msgspec, sqlalchemy, yaml
for name in sys.argv[1:]:
    if not (child := os.fork()):
        import_module(name)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(name)
"""


def run(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder)


@each("option", ["--help", "-h", "--version"])
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


@each("arguments", ["list", "show none", "show none --failing", "watch none"])
def test_asking_about_stored_runs_loads_nothing_that_runs_are_made_with(arguments: str, tmp_path: Path) -> None:
    run("runs", "list", folder=tmp_path)  # makes the store, which takes more

    done = run("runs", *arguments.split(), folder=tmp_path)

    loaded = set(done.stderr.split("\n"))
    assert "prompt_evaluator.store.ledger" in loaded
    assert MAKING_RUNS & loaded == set()


def test_comparing_files_loads_no_database_and_nothing_that_runs_are_made_with(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_bytes(artifact(scored_case("1", "tone", [4])))

    done = run("compare", "a.json", "b.json", folder=tmp_path)

    assert done.stdout.startswith("⚠ Cannot tell: 1 common case; at least 5 are needed.")
    others = MAKING_RUNS - {"numpy"}  # cases are compared as columns of numbers
    assert (others | {"sqlalchemy", "prompt_evaluator.store.ledger"}) & set(done.stderr.split("\n")) == set()


def test_any_module_of_the_command_line_may_be_the_first_that_is_imported() -> None:
    names = [module.name for module in iter_modules(cli.__path__, "prompt_evaluator.cli.")]

    done = subprocess.run([sys.executable, "-c", FIRST, *names], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "prompt_evaluator.cli.evaluate_dataset" in names


def test_version_is_the_packages_own() -> None:
    assert run("--version").stdout == f"prompt-evaluator, version {__version__}\n"


def test_one_run_loads_nothing_that_groups_and_comparisons_need(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_text("Be kind.")

    done = run("evaluate-dataset", "-d", "none.jsonl", "-s", "p.txt", folder=tmp_path)

    assert done.returncode == 2
    of_several = {"prompt_evaluator.app.groups", "prompt_evaluator.cli.matrix", "prompt_evaluator.compare"}
    assert of_several.isdisjoint(done.stderr.split("\n"))


@pytest.mark.parametrize(
    "arguments",
    ["--version", "no-such-command", "validate data.jsonl", "validate none.jsonl", "runs list"],
)
def test_the_command_is_the_same_in_a_new_python_as_where_tests_run_it(arguments: str, offline: Workspace) -> None:
    assert offline.run(*arguments.split()) == offline.run_in_new_python(*arguments.split())


def test_a_python_that_was_started_with_other_variables_does_not_run_the_command(offline: Workspace) -> None:
    known = {**offline.environment, "OPENAI_API_KEY": "test-key-1234567890"}

    assert quick_start.can_run(known)
    assert not quick_start.can_run({**known, "PYTHONUTF8": "0"})
    assert not quick_start.can_run({**known, "SSL_CERT_FILE": "other.pem"})
    assert not quick_start.can_run({name: value for name, value in known.items() if name != "PATH"})


def test_commands_one_after_the_other_have_different_hash_seeds(offline: Workspace) -> None:
    offline.write("bot.py", "def answer(question):\n    return str(hash('tea'))\n")

    answers = {offline.run("providers", "test", "python:bot:answer").out.splitlines()[-1] for _ in range(4)}

    assert len(answers) == 2
