"""`.env` adds variables and never replaces one."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.config.dotenv import read_dotenv
from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

GOOD = {
    "plain": ("A=b", "b"),
    "export": ("export A=b", "b"),
    "spaces": ("  A = b c  ", "b c"),
    "empty": ("A=", ""),
    "only a comment": ("A= # nothing", ""),
    "comment": ("A=b # c", "b"),
    "hash inside": ("A=b#c", "b#c"),
    "equals inside": ("A=b=c==", "b=c=="),
    "double quotes": ('A="b # c"  # d', "b # c"),
    "escapes": (r'A="b\n\"c\" \\ \$d"', 'b\n"c" \\ $d'),
    "single quotes": (r"A='b\n $c'", r"b\n $c"),
    "windows": ("A=b\r", "b"),
}
BAD = ["A", "=b", "1A=b", "A b=c", "A='canary", 'A="canary" canary', "canary"]


@pytest.mark.parametrize(("text", "value"), GOOD.values(), ids=GOOD)
def test_an_assignment_is_read(text: str, value: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(f"\n# comment\n{text}\n".encode())

    found = read_dotenv(tmp_path, {})

    assert found["A"].value == value
    assert found["A"].line == 3


@pytest.mark.parametrize("text", BAD)
def test_anything_else_is_refused_by_its_line_and_not_quoted(text: str, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"B=c\n{text}\n")

    with pytest.raises(InputError, match=r"\.env:2: ") as caught:
        read_dotenv(tmp_path, {})

    assert "canary" not in str(caught.value)


def test_a_folder_of_that_name_is_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / ".env").mkdir()

    assert read_dotenv(tmp_path, {}) == {}


def test_the_working_directory_comes_before_the_files_folder(tmp_path: Path) -> None:
    here = tmp_path / "below"
    here.mkdir()
    (tmp_path / "prompt_evaluator.yaml").write_text("")
    (tmp_path / ".env").write_text("PROMPT_EVALUATOR_NUM_SAMPLES=7\nPROMPT_EVALUATOR_GENERATOR_SEED=1\n")
    (here / ".env").write_text("PROMPT_EVALUATOR_NUM_SAMPLES=8\n")

    settings = load_settings(None, {}, {}, here)

    assert settings.value("num_samples") == 8
    assert settings.origin("generator.seed") == f"PROMPT_EVALUATOR_GENERATOR_SEED in {tmp_path}/.env, line 2"


def test_another_environment_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("SOME_KEY=b\n")
    environment = {"OTHER": "c"}

    settings = load_settings(None, {}, environment, tmp_path)

    assert environment == {"OTHER": "c"}
    assert settings.environment == {"SOME_KEY": "b", "OTHER": "c"}
    assert "SOME_KEY" not in os.environ


def test_keys_reach_the_process_and_replace_nothing(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("NEW=from-file\nOLD=from-file\nPROMPT_EVALUATOR_NUM_SAMPLES=3\n")
    program = (
        "import os; from prompt_evaluator.config.loading import load_settings; load_settings(); "
        "print(os.environ['NEW'], os.environ['OLD'], 'PROMPT_EVALUATOR_NUM_SAMPLES' in os.environ)"
    )

    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "OLD": "from-outside"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == "from-file from-outside False\n"
