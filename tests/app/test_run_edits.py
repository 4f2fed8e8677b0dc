"""What people say about a run, changed at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from workspace import Workspace, until

from prompt_evaluator.app.baselines import list_baselines, pin_baseline, unpin_baseline, unpin_run
from prompt_evaluator.app.run_edits import edit_run
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.errors import ConfigurationError, UnknownNameError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def project(here: Path) -> Workspace:
    return Workspace(here)


def test_tags_are_set_and_removed_and_the_note_is_replaced_everywhere(project: Workspace) -> None:
    run_id = project.evaluate("-n", "1", "--tag", "team=search,stage=dev", "--run-note", "old").run_id
    before = project.artifact(run_id)

    line = edit_run(read_settings(), run_id[:8], tags={"team": "chat", "stage": None}, note="new")

    assert (line.tags, line.note) == ({"team": "chat"}, "new")
    assert project.artifact(run_id) == {**before, "tags": {"team": "chat"}, "run_notes": "new"}
    (entry,) = project.index()
    assert (entry["tags"], entry["description"], entry["status"]) == ({"team": "chat"}, "new", "completed")
    assert entry["overall_metrics"]


def test_what_is_not_given_stays(project: Workspace) -> None:
    run_id = project.evaluate("-n", "1", "--tag", "team=search", "--run-note", "old").run_id

    assert edit_run(read_settings(), run_id).note == "old"
    assert edit_run(read_settings(), run_id, note=None).tags == {"team": "search"}
    assert project.artifact(run_id)["run_notes"] is None


def test_a_run_in_progress_keeps_a_change_when_it_ends(project: Workspace) -> None:
    project.cases(40)
    project.configure(providers={"mock": {"options": {"latency_ms": 300}}})
    started = project.start_evaluation("-n", "1", "--max-concurrency", "4", "--tag", "team=search")
    run_id = started.wait_until_under_way()

    assert edit_run(read_settings(), run_id, tags={"owner": "anna"}, note="meanwhile").status == "running"

    assert started.finish().code == 0
    assert edit_run(read_settings(), run_id).tags == {"team": "search", "owner": "anna"}
    written = project.artifact(run_id)
    assert (written["tags"], written["run_notes"]) == ({"team": "search", "owner": "anna"}, "meanwhile")
    (entry,) = project.index()
    assert (entry["tags"], entry["description"]) == ({"team": "search", "owner": "anna"}, "meanwhile")


def test_no_change_is_lost_however_close_to_the_end_it_is_made(project: Workspace) -> None:
    started = project.start_evaluation("-n", "1")
    run_id = started.wait_until_under_way()
    made: list[str] = []

    def ended() -> bool:
        made.append(edit_run(read_settings(), run_id, note=f"note {len(made)}").status)
        return made[-1] not in ("running", "interrupted")

    until(ended)
    started.finish()

    assert project.artifact(run_id)["run_notes"] == project.index()[0]["description"] == f"note {len(made) - 1}"


@each(
    ("change", "error", "words"),
    [
        ({"tags": {"": "x"}}, ConfigurationError, "Write a name without an equals sign"),
        ({"tags": {"a=b": "x"}}, ConfigurationError, "Write a name without an equals sign"),
        ({"tags": {"a": "x" * 1_001}}, ConfigurationError, "is too long"),
        ({"tags": {str(at): "x" for at in range(101)}}, ConfigurationError, "may have 100 tags"),
        ({"tags": {"team": "chat", "stge": None}}, UnknownNameError, "There is no tag 'stge'. Did you mean 'stage'?"),
        ({"note": "x" * 10_001}, ConfigurationError, "may have 10,000"),
    ],
    ids=["no name", "equals sign", "long value", "many", "unknown", "long note"],
)
def test_what_is_not_allowed_is_refused_and_changes_nothing(
    project: Workspace, change: dict[str, Any], error: type[Exception], words: str
) -> None:
    run_id = project.evaluate("-n", "1", "--tag", "team=search,stage=dev").run_id

    with pytest.raises(error) as caught:
        edit_run(read_settings(), run_id, **change)

    assert words in str(caught.value)
    assert edit_run(read_settings(), run_id).tags == {"team": "search", "stage": "dev"}


def test_a_run_is_pinned_under_its_datasets_name_or_another(project: Workspace) -> None:
    first, second = (project.evaluate("-n", "1").run_id for _ in range(2))

    assert pin_baseline(read_settings(), first).name == "data"
    assert pin_baseline(read_settings(), second, "data").run_id == second
    pin_baseline(read_settings(), second, " release ")

    assert [(each.name, each.run_id) for each in list_baselines(read_settings())] == [
        ("data", second),
        ("release", second),
    ]
    assert edit_run(read_settings(), "release").run_id == second
    unpin_baseline(read_settings(), "data")
    with pytest.raises(UnknownNameError, match=r"There is no baseline 'data'.*release"):
        unpin_baseline(read_settings(), "data")
    assert unpin_run(read_settings(), second) == ["release"]
    assert list_baselines(read_settings()) == []


@each("name", ["", "  ", "@last", "tag:x", "a=b", "x" * 201, "a\nb"], ids=repr)
def test_a_name_that_means_something_else_cannot_be_a_baseline(project: Workspace, name: str) -> None:
    run_id = project.evaluate("-n", "1").run_id

    with pytest.raises(ConfigurationError, match="name"):
        pin_baseline(read_settings(), run_id, name)
    with pytest.raises(ConfigurationError, match="is the id of a run"):
        pin_baseline(read_settings(), run_id, run_id)


def test_a_run_without_a_dataset_file_needs_a_name(settings: Any) -> None:
    with pytest.raises(ConfigurationError, match="has no dataset file to name the baseline after"):
        pin_baseline(settings, "@last")
