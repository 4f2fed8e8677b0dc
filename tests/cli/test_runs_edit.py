"""`prompt-evaluator runs edit`, `pin`, `unpin` and `baselines`."""

from __future__ import annotations

import pytest
from workspace import Workspace


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return Workspace(tmp_path_factory.mktemp("edit"))


@pytest.fixture(scope="module")
def run_id(project: Workspace) -> str:
    return project.evaluate("-n", "1", "--tag", "team=search,stage=dev").run_id


def test_tags_and_note_are_changed(project: Workspace, run_id: str) -> None:
    done = project.run("runs", "edit", run_id[:8], "--tag", "owner=anna", "--remove-tag", "stage", "--note", "good one")

    assert (done.code, done.out) == (0, f"{run_id}: tags team=search, owner=anna; note good one\n")
    (line,) = project.run("runs", "list", "--json").json["runs"]
    assert (line["tags"], line["run_notes"]) == ({"team": "search", "owner": "anna"}, "good one")
    assert project.run("runs", "edit", run_id, "--note", "").out.endswith("note none\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "There is nothing to change"),
        (["--tag", "=docs"], "'=docs' is not of the form name=value"),
        (["--tag", "a=b", "--remove-tag", "a"], "both name 'a'"),
        (["--remove-tag", "tean"], "There is no tag 'tean'. Did you mean 'team'?"),
    ],
    ids=["nothing", "no value", "both", "unknown"],
)
def test_a_wrong_change_is_refused(project: Workspace, run_id: str, arguments: list[str], words: str) -> None:
    done = project.run("runs", "edit", run_id, *arguments)

    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_a_baseline_is_pinned_listed_used_and_unpinned(project: Workspace, run_id: str) -> None:
    assert project.run("runs", "baselines").out.startswith("No baselines yet. Pin a run: prompt-evaluator runs pin")
    assert project.run("runs", "pin", "@last", "release").out == f"Pinned run {run_id} as the baseline release.\n"

    assert project.run("runs", "show", "release", "--json").json["run_id"] == run_id
    _, line = project.run("runs", "baselines").out.splitlines()
    assert line.split()[:2] == ["release", run_id]
    (entry,) = project.run("runs", "baselines", "--json").json["baselines"]
    assert (entry["name"], entry["run_id"]) == ("release", run_id)
    refused = project.run("runs", "delete", run_id, "--yes")
    assert refused.code != 0
    assert "release" in refused.err

    assert project.run("runs", "unpin", "release").out == "release is no longer a baseline.\n"
    assert project.run("runs", "baselines", "--json").json == {"baselines": []}
    assert project.run("runs", "unpin", "release").code == 2
