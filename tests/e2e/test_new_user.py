"""The first minutes of somebody who installs the package, away from this repository."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence


REPOSITORY = Path(__file__).parents[2]
SHIPPED = (
    "benchmarks/basic-coding.yaml",
    "benchmarks/retrieval-qa.yaml",
    "benchmarks/tool-use-basic.yaml",
    "providers/prices-license.txt",
    "providers/prices.json",
    "py.typed",
)


def call(command: Sequence[str | Path], folder: Path, **environment: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built with what is installed here: no index is asked."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index")
    call([*build, "--disable-pip-version-check", "-w", folder, REPOSITORY], folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command in an environment of its own, which borrows the dependencies of this one and nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    call([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], folder)
    python = folder / "venv" / "bin" / "python"
    install = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-compile",
        "--no-deps",
        "--no-index",
    )
    call([*install, "--disable-pip-version-check", wheel], folder)
    own = Path(call([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip())
    # A path in a .pth file is searched, but the .pth files in there are not read: the repository stays unseen.
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return folder / "venv" / "bin" / "prompt-evaluator"


def test_everything_that_ships_is_in_the_wheel(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())

    inside = {
        f"prompt_evaluator/{path.relative_to(REPOSITORY / 'src/prompt_evaluator')}"
        for path in (REPOSITORY / "src/prompt_evaluator").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {f"prompt_evaluator/{name}" for name in SHIPPED} <= names
    assert inside <= names


def test_from_an_empty_folder_to_a_result(installed: Path, tmp_path: Path) -> None:
    python = installed.parent / "python"
    origin = call([python, "-c", "import prompt_evaluator; print(prompt_evaluator.__file__)"], tmp_path)
    assert origin.startswith(str(installed.parents[1]))

    assert call([installed, "--version"], tmp_path).startswith("prompt-evaluator, version ")
    assert f"Next: {installed} evaluate-dataset -d support -s system" in call([installed, "init"], tmp_path)
    assert "support.yaml" in call([installed, "validate", "datasets/support.yaml"], tmp_path)
    summary = call([installed, "evaluate-dataset", "-d", "support", "-s", "system"], tmp_path)
    assert "helpful" in summary
    title, line = call([installed, "runs", "list"], tmp_path).splitlines()[:2]
    assert title.split()[:2] == ["Run", "Status"]
    run_id = line.split()[0]
    assert "helpful" in call([installed, "runs", "show", run_id], tmp_path)
    scores = call([installed, "benchmark", "run", "--dataset", "basic-coding", "--metrics", "similarity"], tmp_path)
    assert "similarity" in scores
    assert len(json.loads(call([installed, "runs", "list", "--json"], tmp_path))["runs"]) == 2


def test_the_python_api_works_and_is_typed(installed: Path, tmp_path: Path) -> None:
    program = (
        "from prompt_evaluator import evaluate\n"
        "run = evaluate([{'id': 'a', 'input': 'x', 'reference': 'x'}], lambda text: text, rubric=None,\n"
        "               metrics=['exact_match'], samples=1)\n"
        "print(run.status, run.metrics['exact_match'].mean_of_means)\n"
    )

    assert call([installed.parent / "python", "-c", program], tmp_path) == "completed 1.0\n"
