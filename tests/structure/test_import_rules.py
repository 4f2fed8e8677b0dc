"""The import rules of pyproject.toml, which `make check` holds, find an import that breaks them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_an_import_against_the_rules_is_found(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    planted = tmp_path / "src/prompt_evaluator/cli/score.py"
    planted.write_text(f"{planted.read_text('utf-8')}\nimport prompt_evaluator.store\n", "utf-8")

    found = subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "src")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert found.returncode == 1
    assert "cli and server know app and model only BROKEN" in found.stdout
