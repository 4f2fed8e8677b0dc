"""Built-in and project rubrics can be listed and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path

MINE = "metrics: [{name: kind, description: Is it kind?, guidelines: Look at the words.}]\nflags: []\n"


@pytest.fixture
def folder(tmp_path: Path) -> Workspace:
    workspace = Workspace(tmp_path)
    workspace.write("r/mine.yaml", MINE)
    workspace.configure(rubrics={"mine": "r/mine.yaml"})
    return workspace


def test_the_list_has_those_that_ship_and_those_of_the_project(folder: Workspace) -> None:
    found = {rubric["name"]: rubric["path"] for rubric in folder.run("rubric", "list", "--json").json["rubrics"]}

    assert found == {
        "code-review": None,
        "content-quality": None,
        "default": None,
        "mine": str(folder.folder / "r/mine.yaml"),
    }
    assert "mine" in folder.run("rubric", "list").out


@pytest.mark.parametrize("name", ["mine", "r/mine.yaml"])
def test_a_rubric_is_shown_by_name_or_path(name: str, folder: Workspace) -> None:
    done = folder.run("rubric", "show", name)

    assert done.code == 0
    assert "kind (1 to 5)\n  Is it kind?\n    Look at the words." in done.out
    assert folder.run("rubric", "show", name, "--json").json["metrics"][0]["name"] == "kind"


def test_an_unknown_rubric_is_refused_with_the_nearest(folder: Workspace) -> None:
    done = folder.run("rubric", "show", "defualt")

    assert done.code == 2
    assert "Did you mean 'default'?" in done.err
