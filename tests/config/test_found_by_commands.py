"""The installed command below a folder where somebody else has left something: it is not used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.usercode.trust import TRUST_VARIABLE

if TYPE_CHECKING:
    from workspace import Workspace

STRANGER = 54_321
"""A user whom nobody has made."""
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def below(offline: Workspace) -> Workspace:
    """Whoever uses the configuration above runs a program that leaves a file."""
    offline.configure(
        providers={"mine": {"kind": "command"}}, generator={"model": f"mine/touch {offline.folder / 'it-ran'}"}
    )
    above = offline.folder / "prompt_evaluator.yaml"
    if IS_ROOT:
        os.chown(above, STRANGER, STRANGER)
    above.chmod(0o644 if IS_ROOT else 0o666)
    offline.folder /= "mine"
    offline.folder.mkdir()
    offline.cases(1)
    offline.write("prompt.txt", "x")
    return offline


def test_no_program_of_theirs_is_run(below: Workspace) -> None:
    done = below.evaluate("-n", "1", "--rubric", "none", "--metrics", "length(min_words=0)")

    assert (done.code, done.out) == (2, "")
    assert "prompt_evaluator.yaml: The configuration was found, not named, and " in done.err
    assert done.err.count("\n") == 1
    assert not (below.folder.parent / "it-ran").exists()


def test_naming_it_runs_the_program(below: Workspace) -> None:
    metrics = ("--rubric", "none", "--metrics", "length(min_words=0)")

    below.evaluate("-n", "1", *metrics, "--config", "../prompt_evaluator.yaml")

    assert (below.folder.parent / "it-ran").exists()


def test_doctor_says_so_and_goes_on(below: Workspace) -> None:
    done = below.run("doctor")

    assert done.code == 2
    assert "The configuration was found, not named, and" in done.words


def test_modules_in_a_folder_for_everybody_are_not_imported(offline: Workspace) -> None:
    offline.write("answers.py", "def answer(prompt):\n    return 'x'\n")
    offline.folder.chmod(0o1777)
    offline.environment["PYTHONSAFEPATH"] = "1"  # as for the installed command: `python -m` adds the folder itself
    ask = ("generate", "hi", "--model", "python/answers:answer")

    refused = offline.run(*ask)
    offline.environment[TRUST_VARIABLE] = str(offline.folder)
    trusted = offline.run(*ask)

    assert refused.code == 2
    assert "Modules are not imported from the working folder, because everyone can write to" in refused.err
    assert f"PYTHONPATH={offline.folder}" in refused.err
    assert (trusted.code, trusted.out) == (0, "x\n")
