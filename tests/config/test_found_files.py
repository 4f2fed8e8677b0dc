"""What is found instead of named is used only if it does not belong to somebody else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.app.benchmarks import datasets_folder
from prompt_evaluator.config.loading import Settings, load_settings
from prompt_evaluator.errors import InputError
from prompt_evaluator.usercode.trust import TRUST_VARIABLE, why_not_ours

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    Give = Callable[[Path], None]

STRANGER = 54_321
"""A user whom nobody has made."""
IS_ROOT = os.geteuid() == 0


@pytest.fixture
def give_away(monkeypatch: pytest.MonkeyPatch) -> Give:
    """Makes a file somebody else's: really, where we may; elsewhere we become somebody else than its owner."""

    def give(path: Path) -> None:
        if IS_ROOT:
            os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
        else:
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)

    return give


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with everything that is found, as a careful person has it."""
    tmp_path.chmod(0o755)
    files = {
        "prompt_evaluator.yaml": "num_samples: 3\n",
        ".env": "PROMPT_EVALUATOR_MAX_CALLS=7\n",
        "benchmarks/tea.jsonl": '{"id": "a", "input": "x"}\n',
        "below/deeper/notes.txt": "",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        path.chmod(0o644)
        path.parent.chmod(0o755)
    return tmp_path


def load(folder: Path, environment: Mapping[str, str] | None = None, config: Path | None = None) -> Settings:
    return load_settings(config, {}, environment or {}, folder)


def refused(folder: Path, environment: Mapping[str, str] | None = None, config: Path | None = None) -> InputError:
    with pytest.raises(InputError) as caught:
        load(folder, environment, config)
    assert caught.value.exit_code == 2
    return caught.value


def test_files_of_ones_own_are_used_from_any_folder_below(project: Path) -> None:
    settings = load(project / "below" / "deeper")

    assert settings.path == project / "prompt_evaluator.yaml"
    assert settings.value("num_samples") == 3
    assert settings.value("max_calls") == 7


@pytest.mark.parametrize("start", [".", "below/deeper"])
def test_somebody_elses_configuration_is_refused(project: Path, start: str, give_away: Give) -> None:
    path = project / "prompt_evaluator.yaml"
    (project / ".env").unlink()
    give_away(path)

    problem = refused(project / start)

    assert problem.path == path
    assert f"The configuration was found, not named, and {path} belongs to the user " in str(problem)
    assert "who is neither you nor root, so it is not used" in str(problem)
    assert f"Name it explicitly with --config {path} or PROMPT_EVALUATOR_CONFIG={path}, or " in str(problem)
    assert str(problem).endswith(f"{TRUST_VARIABLE}={project}.")


def test_somebody_elses_configuration_is_used_when_it_is_named(project: Path, give_away: Give) -> None:
    path = project / "prompt_evaluator.yaml"
    (project / ".env").unlink()
    give_away(path)

    assert load(project, config=path).value("num_samples") == 3
    assert load(project, {"PROMPT_EVALUATOR_CONFIG": str(path)}).value("num_samples") == 3


@pytest.mark.parametrize("start", [".", "below"], ids=["working directory", "beside the configuration"])
def test_somebody_elses_dotenv_is_refused(project: Path, start: str, give_away: Give) -> None:
    give_away(project / ".env")

    problem = refused(project / start, config=project / "prompt_evaluator.yaml")

    assert problem.path == project / ".env"
    assert "The .env was found, not named, and " in str(problem)
    assert f"Set the variables that you need yourself, or trust everything in {project}" in str(problem)


def test_ones_own_files_are_used_whoever_may_write_them(project: Path) -> None:
    (project / "prompt_evaluator.yaml").chmod(0o666)

    assert load(project / "below").value("num_samples") == 3


@pytest.mark.skipif(not IS_ROOT, reason="only root can own a file in somebody else's folder")
def test_a_folder_of_somebody_else_is_refused_although_the_file_is_ones_own(project: Path, give_away: Give) -> None:
    give_away(project)

    assert f"{project} belongs to the user {STRANGER}" in str(refused(project / "below"))


@pytest.mark.skipif(not IS_ROOT, reason="only root can be called by sudo")
@pytest.mark.parametrize(("caller", "used"), [(str(STRANGER), True), (str(STRANGER + 1), False), ("me", False)])
def test_under_sudo_the_files_of_its_caller_are_ones_own(project: Path, caller: str, used: bool) -> None:  # noqa: FBT001
    path = project / "prompt_evaluator.yaml"
    os.chown(path, STRANGER, STRANGER)

    assert (why_not_ours(path, {"SUDO_UID": caller}) is None) == used


def test_a_link_counts_and_what_it_leads_to(project: Path, give_away: Give) -> None:
    link = project / "below" / "prompt_evaluator.yaml"
    link.symlink_to(project / "prompt_evaluator.yaml")
    assert why_not_ours(link, {}) is None

    give_away(link)
    assert f"{link} belongs to " in str(why_not_ours(link, {}))
    link.unlink()
    link.symlink_to(project / "prompt_evaluator.yaml")
    give_away(project / "prompt_evaluator.yaml")
    assert " belongs to " in str(why_not_ours(link, {}))


@pytest.mark.parametrize("trusted", ["{0}", "{0}/", "{0}/below:{0}", " {0} ", "/"])
def test_everything_in_a_trusted_folder_and_below_is_used(project: Path, trusted: str, give_away: Give) -> None:
    give_away(project / "prompt_evaluator.yaml")

    settings = load(project / "below", {TRUST_VARIABLE: trusted.format(project)})

    assert (settings.value("num_samples"), settings.unknown_variables()) == (3, [])


@pytest.mark.parametrize("trusted", ["{0}/below", "{0}x", "", ":", "/nowhere"])
def test_other_folders_are_not_trusted(project: Path, trusted: str, give_away: Give) -> None:
    give_away(project / "prompt_evaluator.yaml")
    (project / "below" / "prompt_evaluator.yaml").symlink_to(project / "prompt_evaluator.yaml")

    assert " belongs to " in str(refused(project / "below", {TRUST_VARIABLE: trusted.format(project)}))


def test_a_file_cannot_say_that_it_is_to_be_trusted(project: Path, give_away: Give) -> None:
    (project / ".env").write_text(f"{TRUST_VARIABLE}={project}\n")
    give_away(project / "prompt_evaluator.yaml")

    assert " belongs to " in str(refused(project))


def test_somebody_elses_benchmarks_are_refused_unless_their_folder_is_named(project: Path, give_away: Give) -> None:
    settings = load(project)
    assert datasets_folder(settings) == project / "benchmarks"
    give_away(project / "benchmarks/tea.jsonl")

    with pytest.raises(InputError) as caught:
        datasets_folder(settings)

    assert "The benchmark was found, not named, and " in str(caught.value)
    assert f"PROMPT_EVALUATOR_BENCHMARK_DATASETS_DIR={project / 'benchmarks'}" in str(caught.value)
    named = load(project, {"PROMPT_EVALUATOR_BENCHMARK_DATASETS_DIR": str(project / "benchmarks"), TRUST_VARIABLE: "/"})
    assert datasets_folder(named) == project / "benchmarks"


def test_a_file_that_is_gone_is_for_its_reader_to_complain_about(tmp_path: Path) -> None:
    assert why_not_ours(tmp_path / "gone" / "prompt_evaluator.yaml", {}) is None
