"""The installed command below a folder where somebody else has left something: it is not used."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.usercode.trust import TRUST_VARIABLE

if TYPE_CHECKING:
    from pathlib import Path

    from workspace import Done, Workspace

STRANGER = 54_321
"""A user whom nobody has made."""
IS_ROOT = os.geteuid() == 0


def give_away(path: Path) -> None:
    """Make it somebody else's, which root alone may do."""
    if not IS_ROOT:
        pytest.skip("only root can give a file away")
    os.chown(path, STRANGER, STRANGER)


@pytest.fixture
def below(offline: Workspace) -> Workspace:
    """Whoever uses the configuration above runs a program that leaves a file."""
    offline.configure(
        providers={"mine": {"kind": "command"}}, generator={"model": f"mine/touch {offline.folder / 'it-ran'}"}
    )
    above = offline.folder / "prompt_evaluator.yaml"
    give_away(above)
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

    refused = ask(offline)
    offline.environment[TRUST_VARIABLE] = str(offline.folder)
    trusted = ask(offline)

    assert refused.code
    assert "Modules are not imported from the working folder, because everyone can write to" in refused.err
    assert f"PYTHONPATH={offline.folder}" in refused.err
    assert trusted.code == 0


def ask(folder: Workspace, module: str = "answers") -> Done:
    return folder.run("providers", "test", f"python/{module}:answer")


def test_modules_in_somebody_elses_folder_are_not_imported(offline: Workspace) -> None:
    offline.write("answers.py", "def answer(prompt):\n    return 'x'\n")
    offline.environment["PYTHONSAFEPATH"] = "1"  # as for the installed command: `python -m` adds the folder itself
    offline.environment["PROMPT_EVALUATOR_STORE"] = str(offline.folder / "named.db")
    give_away(offline.folder)

    refused = ask(offline)
    offline.environment["PYTHONPATH"] = str(offline.folder)
    named = ask(offline)

    assert refused.code
    assert "Modules are not imported from the working folder, because" in refused.err
    assert named.code == 0


class TestTheStore:
    @pytest.mark.parametrize("theirs", [".prompt_evaluator/store.db", ".prompt_evaluator"])
    def test_somebody_elses_is_not_used(self, offline: Workspace, theirs: str) -> None:
        assert offline.run("runs", "list").code == 0
        give_away(offline.folder / theirs)
        path = offline.folder / ".prompt_evaluator" / "store.db"

        for command in (("runs", "list"), ("resume", "@last"), ("serve",), ("doctor",)):
            done = offline.run(*command)

            assert done.code == 2
            assert f"{path}: The store was found, not named, and " in " ".join((done.err + done.out).split())

    def test_it_is_used_if_it_is_named(self, offline: Workspace) -> None:
        assert offline.run("runs", "list").code == 0
        give_away(offline.folder / ".prompt_evaluator" / "store.db")

        assert offline.run("runs", "list", "--store", ".prompt_evaluator/store.db").code == 0
        offline.environment["PROMPT_EVALUATOR_STORE"] = ".prompt_evaluator/store.db"
        assert offline.run("runs", "list").code == 0

    def test_none_is_made_in_a_folder_of_somebody_else(self, offline: Workspace) -> None:
        (offline.folder / ".prompt_evaluator").mkdir()
        give_away(offline.folder / ".prompt_evaluator")

        assert offline.run("runs", "list").code == 2
        assert not list((offline.folder / ".prompt_evaluator").iterdir())
