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
    """Make it somebody else's, where we may; elsewhere something that everyone can write."""
    if IS_ROOT:
        os.chown(path, STRANGER, STRANGER)
    else:
        path.chmod(0o777)


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
    ask = ("providers", "test", "python/answers:answer")

    refused = offline.run(*ask)
    offline.environment[TRUST_VARIABLE] = str(offline.folder)
    trusted = offline.run(*ask)

    assert refused.code == 2
    assert "Modules are not imported from the working folder, because everyone can write to" in refused.err
    assert f"PYTHONPATH={offline.folder}" in refused.err
    assert trusted.code == 0


MODULES = {
    "answers.py": "import helpers\n\n\ndef answer(prompt):\n    return 'x'\n",
    "helpers.py": "",
    "package/__init__.py": "",
    "package/answers.py": "def answer(prompt):\n    return 'x'\n",
}


@pytest.fixture
def modules(offline: Workspace) -> Workspace:
    """Every module leaves a file when it is imported."""
    for name, code in MODULES.items():
        offline.write(name, f"open({str(offline.folder / 'it-ran')!r}, 'a').close()\n{code}").chmod(0o644)
    for folder in (offline.folder, offline.folder / "package"):
        folder.chmod(0o755)
    offline.environment["PYTHONSAFEPATH"] = "1"  # as for the installed command: `python -m` adds the folder itself
    return offline


def ask(folder: Workspace, module: str = "answers") -> Done:
    return folder.run("providers", "test", f"python/{module}:answer")


@pytest.mark.parametrize(
    ("theirs", "module", "refused"),
    [
        ("answers.py", "answers", "answers.py"),
        ("package", "package.answers", "package/__init__.py"),
        ("package/__init__.py", "package.answers", "package/__init__.py"),
    ],
)
def test_a_module_of_somebody_else_is_not_imported(modules: Workspace, theirs: str, module: str, refused: str) -> None:
    give_away(modules.folder / theirs)

    done = ask(modules, module)

    assert (done.code, done.out) == (2, "")
    assert f"{modules.folder / refused}: The module was found, not named, and " in done.err
    assert f"To import it, set PYTHONPATH={modules.folder}, or trust everything in " in done.err
    assert not (modules.folder / "it-ran").exists()


@pytest.mark.parametrize(("theirs", "module"), [("helpers.py", "answers"), ("package/answers.py", "package.answers")])
def test_nor_is_what_a_module_or_a_package_of_ones_own_consists_of(
    modules: Workspace, theirs: str, module: str
) -> None:
    (modules.folder / theirs).chmod(0o666)

    done = ask(modules, module)

    assert (done.code, done.out) == (2, "")
    assert f"{modules.folder / theirs}: The module was found, not named, and everyone can write to it" in done.err


def test_nor_is_a_compiled_module_of_somebody_else(modules: Workspace) -> None:
    assert ask(modules).code == 0
    compiled = next((modules.folder / "__pycache__").glob("answers.*.pyc"))
    give_away(compiled)

    done = ask(modules)

    assert done.code == 2
    assert f"{compiled}: The module was found, not named, and " in done.err


def test_nor_is_a_metric_that_everyone_can_write(modules: Workspace) -> None:
    modules.cases(1)
    modules.write("prompt.txt", "x")
    (modules.folder / "answers.py").chmod(0o666)

    done = modules.evaluate("-n", "1", "--rubric", "none", "--metrics", "python:answers:answer")

    assert (done.code, done.out) == (2, "")
    assert "answers.py: The module was found, not named, and everyone can write to it (mode 666;" in done.err
    assert not (modules.folder / "it-ran").exists()


@pytest.mark.parametrize("variable", ["PYTHONPATH", TRUST_VARIABLE])
def test_modules_of_a_named_folder_are_imported_whoever_wrote_them(modules: Workspace, variable: str) -> None:
    for name in MODULES:
        give_away(modules.folder / name)
    modules.environment[variable] = str(modules.folder)

    assert (ask(modules).code, ask(modules, "package.answers").code) == (0, 0)


def test_packages_that_are_installed_below_the_folder_are_not_found_there(modules: Workspace) -> None:
    installed = modules.folder / "venv" / "lib"
    helper = modules.write("venv/lib/tools/__init__.py", "")
    modules.write("answers.py", "import tools.more\n\n\ndef answer(prompt):\n    return 'x'\n").chmod(0o644)
    give_away(modules.write("venv/lib/tools/more.py", ""))
    give_away(helper)
    modules.environment["PYTHONPATH"] = str(installed)

    assert ask(modules).code == 0


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

    def test_ones_own_is_used_again_whatever_the_umask(self, offline: Workspace) -> None:
        before = os.umask(0)
        try:
            codes = [offline.run("runs", "list").code for _ in range(2)]
        finally:
            os.umask(before)

        assert codes == [0, 0]
