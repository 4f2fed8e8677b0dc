"""Every command of the dataset guide that starts with `prompt-evaluator` does what a reader expects of it."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from workspace import Workspace

REPOSITORY = Path(__file__).parents[2]
COMMANDS = {
    "a smoke test": r"""
        prompt-evaluator evaluate-dataset \
          --dataset examples/datasets/sample.yaml \
          --system-prompt prompts/system.txt \
          --max-cases 5 \
          --quick
    """,
    "a full evaluation": r"""
        prompt-evaluator evaluate-dataset \
          --dataset examples/datasets/sample.yaml \
          --system-prompt prompts/system.txt \
          --num-samples 5
    """,
    "a quick check": "prompt-evaluator evaluate-dataset -d data.yaml -s prompt.txt --max-cases 5 --quick",
    "after the quick check": "prompt-evaluator evaluate-dataset -d data.yaml -s prompt.txt --num-samples 5",
    "two samples": "prompt-evaluator evaluate-dataset -d data.yaml -s prompt.txt --quick",
    "ten samples": "prompt-evaluator evaluate-dataset -d data.yaml -s prompt.txt --num-samples 10",
    "cooler": "prompt-evaluator evaluate-dataset -d data.yaml -s prompt.txt --num-samples 10 --temperature 0.3",
    "the remaining cases": r"""
        prompt-evaluator evaluate-dataset \
          --dataset dataset.yaml \
          --system-prompt prompt.txt \
          --case-ids test-003,test-004,test-005 \
          --num-samples 5
    """,
}


@pytest.fixture
def guide_folder(offline: Workspace) -> Workspace:
    """A folder with the files that the guide's commands name."""
    sample = REPOSITORY / "examples/datasets/sample.yaml"
    for name in ("examples/datasets/sample.yaml", "data.yaml"):
        offline.write(name, sample.read_bytes())
    offline.write("prompts/system.txt", (REPOSITORY / "prompts/system.txt").read_bytes())
    cases = "".join(f"- id: test-{at:03}\n  input: Question {at}\n" for at in range(1, 6))
    offline.write("dataset.yaml", cases)
    return offline


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_command_of_the_guide_works(guide_folder: Workspace, command: str) -> None:
    words = shlex.split(command.replace("\\\n", " "))
    assert words[0] == "prompt-evaluator"

    done = guide_folder.run(*words[1:])

    assert done.code == 0
    assert guide_folder.artifact(guide_folder.the_run())["status"] == "completed"


def test_the_installed_program_is_the_same(guide_folder: Workspace) -> None:
    assert shutil.which("prompt-evaluator", path=str(REPOSITORY / ".venv/bin")) is not None
    assert guide_folder.run("--version").out.startswith("prompt-evaluator")
