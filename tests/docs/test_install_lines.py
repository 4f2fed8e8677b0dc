"""On the public index the name `prompt-evaluator` belongs to somebody else: no line of ours may install it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from prompt_evaluator.app.doctor import PACKAGE

ROOT = Path(__file__).parents[2]
LOOKED_AT = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "action.yml", ".pre-commit-hooks.yaml")
]
FOLDERS = ("docs", "examples", "evals", "src", ".ci")
_INSTALL = re.compile(
    r"\b(?:pip3?|pipx|uv|uvx)\b[^\n]*\b(?:install|add|run --with)\b(?P<what>[^\n]*)|\buvx (?P<run>[^\n]*)"
)
_THEIRS = re.compile(r"(?<![\w./-])prompt[-_.]*evaluator(?![\w/-]|\.\w)", re.IGNORECASE)


def wrong_installs(text: str) -> list[str]:
    return [found[0] for found in _INSTALL.finditer(text) if _THEIRS.search(found["what"] or found["run"] or "")]


def test_no_line_installs_the_package_of_somebody_else() -> None:
    files = [*LOOKED_AT, *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file())]
    texts = {path: path.read_text(encoding="utf-8", errors="ignore") for path in files if path.suffix != ".pyc"}

    assert {str(path): wrong for path, text in texts.items() if (wrong := wrong_installs(text))} == {}
    assert any("prompt-verdict[" in text for text in texts.values())


def test_the_distribution_has_a_name_of_its_own() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert project["name"] == PACKAGE == "prompt-verdict"
    assert [*project["scripts"]] == ["prompt-evaluator"]


@pytest.mark.parametrize(
    "line",
    [
        "pip install prompt-evaluator",
        "- run: pip install prompt_evaluator==0.1.0",
        "python -m pip install --quiet 'prompt-evaluator[server]'",
        "uv pip install Prompt.Evaluator>=1",
        "pipx install prompt-evaluator",
    ],
)
def test_such_a_line_is_found(line: str) -> None:
    assert wrong_installs(line) == [line.removeprefix("- run: ").removeprefix("python -m ")]


def test_paths_and_variables_are_none() -> None:
    assert (
        wrong_installs('/opt/prompt-evaluator/bin/pip install -- "$PROMPT_EVALUATOR_SOURCE" ./prompt-evaluator') == []
    )
