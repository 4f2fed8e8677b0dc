"""The import rules of pyproject.toml, broken one by one in a copy of the source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS_OF_WORK = ("config", "datasets", "providers", "metrics", "pipeline", "engines", "store")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def check(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


def add_import(folder: Path, room: str, imported: str) -> None:
    path = folder / "src" / "prompt_evaluator" / room
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    file.write_text(file.read_text("utf-8") + f"\nimport prompt_evaluator.{imported}\n", "utf-8")


def test_the_rules_are_kept(copy: Path) -> None:
    found = check(copy)

    assert found.returncode == 0, found.stdout


@pytest.mark.parametrize(
    ("room", "imported"),
    [
        ("app", "cli.main"),
        ("providers", "app.models"),
        ("pipeline", "app.runs"),
        ("registry", "datasets"),
        ("syntax", "datasets"),
        ("ports", "providers"),
        ("model", "ports"),
        ("model", "syntax"),
        ("stats", "model"),
        ("errors", "model"),
        *[(room, other) for room, other in zip(ROOMS_OF_WORK, ROOMS_OF_WORK[1:] + ROOMS_OF_WORK[:1], strict=True)],
        ("store", "pipeline"),
        ("metrics", "datasets"),
    ],
)
def test_an_import_against_the_rules_is_found(copy: Path, room: str, imported: str) -> None:
    add_import(copy, room, imported)

    found = check(copy)

    assert found.returncode == 1
    assert "BROKEN" in found.stdout


def test_a_new_room_has_to_be_placed_on_purpose(copy: Path) -> None:
    (copy / "src" / "prompt_evaluator" / "attic").mkdir()
    (copy / "src" / "prompt_evaluator" / "attic" / "__init__.py").touch()

    found = check(copy)

    assert found.returncode == 1
    assert "attic" in found.stdout
