"""A dataset is found by its name, and a name reaches nothing outside the known folders."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from prompt_evaluator.app.benchmarks import dataset_names, find_dataset, list_datasets
from prompt_evaluator.app.dataset_facts import DatasetFacts, read_facts
from prompt_evaluator.config.loading import load_settings
from prompt_evaluator.errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings

TASK = "- {id: a, name: A, input: x, expected_output: y}\n"
SHIPPED = ["basic-coding", "retrieval-qa", "tool-use-basic"]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A project with datasets, below a folder with a file that nobody should reach."""
    (tmp_path / "secret.yaml").write_text(f"tasks:\n{TASK}")
    project = tmp_path / "project"
    (project / "benchmarks" / "inner").mkdir(parents=True)
    (project / "benchmarks" / "tea.yaml").write_text(f"name: Tea\ndescription: About tea.\ntasks:\n{TASK}")
    (project / "benchmarks" / "inner" / "deep.yaml").write_text(f"tasks:\n{TASK}")
    (project / "more.jsonl").write_text('{"id": "a", "input": "x"}\n')
    (project / "prompt_evaluator.yaml").write_text("dataset_paths: {support: more.jsonl, gone: gone.yaml}\n")
    return load_settings(None, {}, {}, project)


def test_the_names_are_those_of_the_folder_of_the_configuration_and_of_the_package(settings: Settings) -> None:
    assert dataset_names(settings) == sorted([*SHIPPED, "tea", "support", "gone"])


def test_a_dataset_has_the_title_and_description_of_its_file(settings: Settings) -> None:
    found = find_dataset(settings, "tea")

    assert (found.title, found.description, found.count, found.origin) == ("Tea", "About tea.", 1, "project")
    assert find_dataset(settings, "basic-coding").title == "Basic Coding"
    assert find_dataset(settings, "support").title is None


def test_a_broken_file_keeps_its_title(settings: Settings) -> None:
    (settings.cwd / "benchmarks" / "broken.yaml").write_text("name: Half\ntasks:\n- {id: a}\n")

    (broken,) = (each for each in list_datasets(settings) if each.name == "broken")

    assert broken.title == "Half"
    assert "missing required field" in str(broken.error)
    with pytest.raises(ConfigurationError, match="The dataset 'broken' cannot be used"):
        find_dataset(settings, "broken")


def test_an_own_file_goes_before_a_configured_name_and_that_before_a_shipped_one(tmp_path: Path) -> None:
    for name in ("tea", "basic-coding"):
        (tmp_path / f"{name}.yaml").write_text(f"name: configured\ntasks:\n{TASK}")
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "tea.yaml").write_text(f"name: own\ntasks:\n{TASK}")
    (tmp_path / "prompt_evaluator.yaml").write_text("dataset_paths: {tea: tea.yaml, basic-coding: basic-coding.yaml}\n")
    settings = load_settings(None, {}, {}, tmp_path)

    titles = {each.name: each.title for each in list_datasets(settings)}

    assert (titles["tea"], titles["basic-coding"]) == ("own", "configured")


def test_only_the_file_that_is_asked_for_is_read(settings: Settings) -> None:
    opened: list[Path] = []

    def read(path: Path) -> DatasetFacts:
        opened.append(path)
        return read_facts(path)

    find_dataset(settings, "tea", read)

    assert [path.name for path in opened] == ["tea.yaml"]


def test_a_wrong_name_is_refused_with_the_nearest(settings: Settings) -> None:
    with pytest.raises(UnknownNameError, match=r"^There is no dataset 'suport'. Did you mean 'support'\?$"):
        find_dataset(settings, "suport")


def _traversals(settings: Settings) -> list[str]:
    """Ways to write the path of a file that is there, as a name."""
    targets = ["secret", "secret.yaml", "more.jsonl", "more", "tea.yaml", "inner/deep", "inner/deep.yaml", "inner"]
    ups = ["", "./", "../", "../../", "..\\", "....//", "..;/", "benchmarks/../../", "tea/../../", "/proc/self/cwd/../"]
    ends = ["", "\0", "\0.yaml", "/", " ", "\n", "%00", "?", "#", "::$DATA"]
    plain = [up + target + end for up, target, end in itertools.product(ups, targets, ends)]
    absolute = [str(settings.cwd / "benchmarks" / "tea.yaml"), str(settings.cwd.parent / "secret.yaml"), "/etc/passwd"]
    shapes = [
        *("", ".", "..", "~", "~root", "*", "t*a", "TEA", "tea ", "\0tea", "te\0a", "\uff54\uff45\uff41", "te\u0301a"),
        *("\ud800", "x" * 100_000),
    ]
    encoded = [each for name in (*plain, *absolute) for each in (quote(name, safe=""), quote(quote(name, safe="")))]
    overlong = [name.replace("/", "\u2215") for name in plain] + [name.replace(".", "\uff0e") for name in plain]
    found = dict.fromkeys([*plain, *absolute, *shapes, *encoded, *overlong])
    return [name for name in found if name not in dataset_names(settings)]


def test_no_name_reaches_a_file_outside_the_folders(settings: Settings) -> None:
    opened: list[Path] = []

    def read(path: Path) -> DatasetFacts:
        opened.append(path)
        return DatasetFacts()

    names = _traversals(settings)

    assert len(names) > 1_000
    for name in names:
        with pytest.raises(UnknownNameError):
            find_dataset(settings, name, read)
    assert opened == []
