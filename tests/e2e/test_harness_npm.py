"""The harness document's commands, as they are written there: `npm run evals:run` and `npm run evals:gate`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WORDS = "Not enough eval history to detect regressions; skipping gate."

pytestmark = pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """What a clone has of the harness, set up already: an environment whose programs are this one's."""
    for name in ("Makefile", "package.json", "pyproject.toml", "constraints.txt"):
        shutil.copyfile(ROOT / name, tmp_path / name)
    for name in ("tasks", "configs"):
        shutil.copytree(ROOT / "evals" / name, tmp_path / "evals" / name)
    programs = tmp_path / ".venv/bin"
    programs.mkdir(parents=True)
    start = f'#!/bin/sh\nexec "{sys.executable}" -m prompt_evaluator "$@"\n'
    (programs / "prompt-evaluator").write_text(start, encoding="utf-8")
    (programs / "prompt-evaluator").chmod(0o755)
    (tmp_path / ".venv/.ready").touch()
    return tmp_path


def _npm(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("EVAL_", "PROMPT_EVALUATOR_"))}
    environment = {**kept, "npm_config_update_notifier": "false", "npm_config_cache": str(folder / ".npm")}
    return subprocess.run(
        ["npm", "run", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_documents_commands_run_the_harness_and_gate_it(clone: Path) -> None:
    first = _npm(clone, "evals:run")
    skipped = _npm(clone, "evals:gate")
    second = _npm(clone, "evals:run")
    passed = _npm(clone, "evals:gate")

    assert [done.returncode for done in (first, skipped, second, passed)] == [0, 0, 0, 0], first.stderr
    assert "30 tasks with 3 configurations, once." in first.stdout
    assert WORDS in skipped.stdout
    assert "Eval regression gate passed." in passed.stdout
    results = clone / "evals/results"
    assert {file.name for file in results.glob("*.json")} == {
        "history.json", "latest.json", "leaderboard.json", "trends.json",
    }  # fmt: skip
    assert len(json.loads((results / "history.json").read_bytes())) == 2


def test_a_gate_that_fails_fails_the_command(clone: Path) -> None:
    _npm(clone, "evals:run")
    path = clone / "evals/results/history.json"
    (run,) = json.loads(path.read_bytes())
    worse = [{**each, "latencyAvgMs": each["latencyAvgMs"] + 401} for each in run["summaries"]]
    path.write_text(json.dumps([run, {**run, "runId": "worse", "summaries": worse}]), encoding="utf-8")

    done = _npm(clone, "evals:gate")

    assert done.returncode != 0
    assert "Eval regression gate failed:" in done.stderr
