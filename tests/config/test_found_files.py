"""What is found instead of named is used only where nobody else can have written it."""

from __future__ import annotations

import grp
import os
import pwd
from typing import TYPE_CHECKING

import pytest

from prompt_evaluator.app.benchmarks import datasets_folder
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.config.loading import Settings, load_settings
from prompt_evaluator.errors import InputError
from prompt_evaluator.usercode.trust import TRUST_VARIABLE, why_not_our_folder, why_not_ours

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
    assert "The configuration was found, not named, and it belongs to the user " in str(problem)
    assert "who is neither you nor root, so it is not used" in str(problem)
    assert f"Name it explicitly with --config {path} or PROMPT_EVALUATOR_CONFIG={path}, or " in str(problem)
    assert str(problem).endswith(f"{TRUST_VARIABLE}={project}.")


def test_somebody_elses_configuration_is_used_when_it_is_named(project: Path, give_away: Give) -> None:
    path = project / "prompt_evaluator.yaml"
    (project / ".env").unlink()
    give_away(path)
    path.chmod(0o666)

    assert load(project, config=path).value("num_samples") == 3
    assert load(project, {"PROMPT_EVALUATOR_CONFIG": str(path)}).value("num_samples") == 3


@pytest.mark.parametrize("start", [".", "below"], ids=["working directory", "beside the configuration"])
def test_somebody_elses_dotenv_is_refused(project: Path, start: str, give_away: Give) -> None:
    give_away(project / ".env")

    problem = refused(project / start, config=project / "prompt_evaluator.yaml")

    assert problem.path == project / ".env"
    assert "The .env was found, not named, and it belongs to " in str(problem)
    assert f"Set the variables that you need yourself, or trust everything in {project}" in str(problem)


@pytest.mark.parametrize("name", ["prompt_evaluator.yaml", ".env"])
@pytest.mark.parametrize(("mode", "who"), [(0o646, "everyone"), (0o666, "everyone"), (0o777, "everyone")])
def test_what_everybody_may_write_is_refused(project: Path, name: str, mode: int, who: str) -> None:
    (project / name).chmod(mode)

    problem = refused(project)

    assert problem.path == project / name
    assert f"{who} can write to it (mode {mode:o}; fix with `chmod go-w`)" in str(problem)


def test_what_everybody_may_write_is_refused_whoever_owns_it(project: Path) -> None:
    (project / "prompt_evaluator.yaml").chmod(0o666)

    assert "everyone can write to it" in str(refused(project, {"SUDO_UID": str(os.getuid())}))


def test_a_folder_in_which_others_may_replace_the_file_is_refused(project: Path) -> None:
    project.chmod(0o777)

    assert f"everyone can write to the folder {project} (mode 777; fix with `chmod go-w`)" in str(
        refused(project / "below")
    )


def test_in_a_folder_like_tmp_ones_own_files_are_used(project: Path) -> None:
    project.chmod(0o1777)

    assert load(project / "below").value("num_samples") == 3


def test_in_a_folder_like_tmp_somebody_elses_files_are_refused(project: Path, give_away: Give) -> None:
    project.chmod(0o1777)
    (project / ".env").unlink()
    give_away(project / "prompt_evaluator.yaml")

    assert "it belongs to" in str(refused(project / "below"))


def test_a_folder_of_somebody_else_is_refused_although_the_file_is_ones_own(project: Path, give_away: Give) -> None:
    if not IS_ROOT:
        pytest.skip("only root can own a file in somebody else's folder")
    give_away(project)

    assert f"the folder {project} belongs to the user {STRANGER}" in str(refused(project / "below"))


def test_the_own_group_of_the_owner_may_write_what_it_likes(project: Path) -> None:
    user = pwd.getpwuid(os.getuid())
    if grp.getgrgid(user.pw_gid).gr_name != user.pw_name:
        pytest.skip("this user has no group of its own")
    os.chown(project / "prompt_evaluator.yaml", -1, user.pw_gid)
    os.chown(project, -1, user.pw_gid)
    (project / "prompt_evaluator.yaml").chmod(0o664)
    project.chmod(0o775)

    assert load(project).value("num_samples") == 3


@pytest.mark.skipif(not IS_ROOT, reason="only root can give a file to any group")
class TestGroups:
    def test_another_group_that_may_write_is_refused(self, project: Path) -> None:
        os.chown(project / "prompt_evaluator.yaml", -1, STRANGER)
        (project / "prompt_evaluator.yaml").chmod(0o664)

        assert f"the group {STRANGER} can write to it (mode 664; fix with `chmod go-w`)" in str(refused(project))

    def test_a_group_with_a_name_is_named(self, project: Path) -> None:
        other = next(group for group in grp.getgrall() if group.gr_gid)
        os.chown(project, -1, other.gr_gid)
        project.chmod(0o775)

        assert f"the group {other.gr_name} can write to the folder {project}" in str(refused(project))

    def test_a_group_of_the_same_number_is_the_owners_where_neither_has_a_name(self, project: Path) -> None:
        path = project / "prompt_evaluator.yaml"
        os.chown(path, STRANGER, STRANGER)
        path.chmod(0o664)

        assert why_not_ours(path, {"SUDO_UID": str(STRANGER)}) is None
        os.chown(path, STRANGER, STRANGER + 1)
        path.chmod(0o664)
        assert f"the group {STRANGER + 1} can write to it" in str(why_not_ours(path, {"SUDO_UID": str(STRANGER)}))


@pytest.mark.skipif(not IS_ROOT, reason="only root can be called by sudo")
@pytest.mark.parametrize(("caller", "used"), [(str(STRANGER), True), (str(STRANGER + 1), False), ("me", False)])
def test_under_sudo_the_files_of_its_caller_are_ones_own(project: Path, caller: str, used: bool) -> None:  # noqa: FBT001
    (project / ".env").unlink()
    for path in (project, project / "prompt_evaluator.yaml"):
        os.chown(path, STRANGER, STRANGER)

    if used:
        assert load(project, {"SUDO_UID": caller}).value("num_samples") == 3
    else:
        assert "belongs to the user" in str(refused(project, {"SUDO_UID": caller}))


class TestLinks:
    def test_a_link_of_ones_own_to_a_file_of_ones_own_is_used(self, project: Path) -> None:
        (project / "below" / "prompt_evaluator.yaml").symlink_to("../prompt_evaluator.yaml")

        assert load(project / "below").path == project / "prompt_evaluator.yaml"

    def test_what_a_link_leads_to_counts(self, project: Path, give_away: Give) -> None:
        (project / ".env").unlink()
        (project / "below" / "prompt_evaluator.yaml").symlink_to(project / "prompt_evaluator.yaml")
        give_away(project / "prompt_evaluator.yaml")

        assert " belongs to " in str(refused(project / "below"))

    def test_a_folder_that_a_link_leads_through_counts(self, project: Path) -> None:
        (project / "between").mkdir()
        (project / "between" / "link").symlink_to(project / "prompt_evaluator.yaml")
        (project / "between").chmod(0o777)
        (project / "below" / "prompt_evaluator.yaml").symlink_to(project / "between" / "link")

        assert f"everyone can write to the folder {project / 'between'}" in str(refused(project / "below"))

    def test_somebody_elses_link_to_a_file_of_ones_own_is_refused(self, project: Path, give_away: Give) -> None:
        (project / ".env").unlink()
        link = project / "below" / "prompt_evaluator.yaml"
        link.symlink_to(project / "prompt_evaluator.yaml")
        give_away(link)

        assert f"the link {link} belongs to " in str(refused(project / "below"))


class TestTrustedFolders:
    @pytest.mark.parametrize("trusted", ["{0}", "{0}/", "{0}/below:{0}", " {0} ", "/"])
    def test_everything_in_them_and_below_is_used(self, project: Path, trusted: str, give_away: Give) -> None:
        give_away(project / "prompt_evaluator.yaml")
        (project / ".env").chmod(0o666)

        settings = load(project / "below", {TRUST_VARIABLE: trusted.format(project)})

        assert settings.value("num_samples") == 3
        assert settings.value("max_calls") == 7

    @pytest.mark.parametrize("trusted", ["{0}/below", "{0}x", "", ":", "/nowhere"])
    def test_others_are_not(self, project: Path, trusted: str) -> None:
        (project / "prompt_evaluator.yaml").chmod(0o666)

        assert "everyone can write to it" in str(refused(project / "below", {TRUST_VARIABLE: trusted.format(project)}))

    def test_a_link_out_of_them_is_followed_with_care(self, project: Path) -> None:
        (project / "prompt_evaluator.yaml").chmod(0o666)
        (project / "below" / "prompt_evaluator.yaml").symlink_to(project / "prompt_evaluator.yaml")

        problem = refused(project / "below", {TRUST_VARIABLE: str(project / "below")})

        assert "everyone can write to it" in str(problem)

    def test_a_file_cannot_say_that_it_is_to_be_trusted(self, project: Path) -> None:
        (project / ".env").write_text(f"{TRUST_VARIABLE}={project}\n")
        (project / "prompt_evaluator.yaml").chmod(0o666)

        assert "everyone can write to it" in str(refused(project))

    def test_the_variable_is_one_that_somebody_reads(self, project: Path) -> None:
        assert load(project, {TRUST_VARIABLE: str(project)}).unknown_variables() == []


class TestBenchmarks:
    def test_those_of_ones_own_are_used(self, project: Path) -> None:
        assert datasets_folder(load(project)) == project / "benchmarks"

    @pytest.mark.parametrize("which", ["benchmarks", "benchmarks/tea.jsonl"])
    def test_those_that_others_may_write_are_refused(self, project: Path, which: str) -> None:
        (project / which).chmod(0o777)

        with pytest.raises(InputError) as caught:
            datasets_folder(load(project))

        assert "The benchmark was found, not named, and everyone can write to" in str(caught.value)
        assert f"PROMPT_EVALUATOR_BENCHMARK_DATASETS_DIR={project / 'benchmarks'}" in str(caught.value)

    def test_a_folder_that_is_named_is_used_as_it_is(self, project: Path) -> None:
        (project / "benchmarks/tea.jsonl").chmod(0o666)
        (project / "prompt_evaluator.yaml").write_text("benchmark: {datasets_dir: benchmarks}\n")

        assert datasets_folder(load(project)) == project / "benchmarks"


def test_a_folder_in_which_anybody_may_put_modules_is_not_ours(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)

    assert (
        why_not_our_folder(tmp_path, {})
        == f"everyone can write to the folder {tmp_path} (mode 1777; fix with `chmod go-w`)"
    )
    assert why_not_our_folder(tmp_path, {TRUST_VARIABLE: str(tmp_path)}) is None
    tmp_path.chmod(0o755)
    assert why_not_our_folder(tmp_path, {}) is None


def test_a_file_that_is_gone_is_for_its_reader_to_complain_about(tmp_path: Path) -> None:
    assert why_not_ours(tmp_path / "gone" / "prompt_evaluator.yaml", {}) is None


def test_settings_of_this_process_are_checked_too(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "prompt_evaluator.yaml").chmod(0o666)
    monkeypatch.chdir(project)
    monkeypatch.delenv(TRUST_VARIABLE, raising=False)

    with pytest.raises(InputError, match="everyone can write to it"):
        read_settings()
    monkeypatch.setenv(TRUST_VARIABLE, str(project))
    assert read_settings().value("num_samples") == 3
