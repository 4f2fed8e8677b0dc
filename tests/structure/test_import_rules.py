"""The import rules of pyproject.toml, broken one by one in a copy of the source."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "prompt_evaluator"
ROOMS_OF_WORK = ("config", "datasets", "providers", "metrics", "pipeline", "engines", "store", "reports")
FRONT_ENDS = ("cli", "server")
BEHIND_APP = (*ROOMS_OF_WORK, "registry", "ports", "syntax", "usercode", "stats")
FRONT_END_RULE = "cli and server know app and model only"
REPORTS_RULE = "reports know model and stats only"


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


def add_import(folder: Path, room: str, imported: str, *, for_types: bool = False) -> None:
    path = folder / "src" / PACKAGE / room
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    line = f"import {PACKAGE}.{imported}"
    if for_types:
        line = f"from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    {line}"
    file.write_text(f"{file.read_text('utf-8')}\n{line}\n", "utf-8")


def rule(name: str) -> dict[str, Any]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    return next(contract for contract in contracts if contract["name"] == name)


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


@pytest.mark.parametrize("for_types", [False, True], ids=["when it runs", "for types only"])
@pytest.mark.parametrize("room", BEHIND_APP)
def test_a_command_that_goes_past_app_is_found(copy: Path, room: str, *, for_types: bool) -> None:
    add_import(copy, "cli/score", room, for_types=for_types)

    found = check(copy)

    assert found.returncode == 1
    assert f"{FRONT_END_RULE} BROKEN" in found.stdout


@pytest.mark.parametrize("imported", ["app.runs", "model.wording", "errors", "version"])
def test_a_command_may_know_app_and_model_and_the_ground_floor(copy: Path, imported: str) -> None:
    add_import(copy, "cli/score", imported)

    found = check(copy)

    assert found.returncode == 0, found.stdout


def test_a_command_may_not_know_a_room_that_is_added_later(copy: Path) -> None:
    (copy / "src" / PACKAGE / "attic").mkdir()
    (copy / "src" / PACKAGE / "attic" / "__init__.py").touch()
    add_import(copy, "cli/score", "attic")

    assert f"{FRONT_END_RULE} BROKEN" in check(copy).stdout


def test_every_front_end_there_is_has_to_keep_the_rule() -> None:
    there = {f"{PACKAGE}.{name}" for name in FRONT_ENDS if (ROOT / "src" / PACKAGE / name).is_dir()}

    assert set(rule(FRONT_END_RULE)["source_modules"]) == there


@pytest.mark.parametrize("imported", ["ports", "registry", "syntax", "usercode"])
def test_reports_that_know_more_than_model_and_stats_are_found(copy: Path, imported: str) -> None:
    add_import(copy, "reports/runs", imported, for_types=True)

    found = check(copy)

    assert found.returncode == 1
    assert f"{REPORTS_RULE} BROKEN" in found.stdout


def test_a_new_room_has_to_be_placed_on_purpose(copy: Path) -> None:
    (copy / "src" / "prompt_evaluator" / "attic").mkdir()
    (copy / "src" / "prompt_evaluator" / "attic" / "__init__.py").touch()

    found = check(copy)

    assert found.returncode == 1
    assert "attic" in found.stdout
