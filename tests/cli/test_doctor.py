"""`doctor` finds what is broken, says what to do, and changes nothing."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from workspace import Workspace

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def problems(folder: Workspace, *arguments: str) -> dict[str, str]:
    done = folder.run("doctor", "--json", *arguments)
    found = [finding for finding in done.json["findings"] if finding["state"] == "problem"]
    assert done.code == (2 if found else 0)
    assert done.json["ok"] is not bool(found)
    return {finding["topic"]: f"{finding['text']} {finding['advice']}" for finding in found}


def notes(folder: Workspace) -> list[str]:
    findings: list[dict[str, Any]] = folder.run("doctor", "--json").json["findings"]
    return [f"{finding['text']} {finding['advice']}" for finding in findings if finding["state"] == "note"]


def test_an_empty_folder_is_in_order_and_stays_empty(folder: Workspace) -> None:
    before = set(folder.folder.rglob("*"))

    done = folder.run("doctor")

    assert done.code == 0
    assert "problem" not in done.out
    assert "python" in done.out
    assert "msgspec" in done.out
    assert "the first run creates it" in done.out
    assert set(folder.folder.rglob("*")) == before


def test_a_broken_configuration_is_the_problem(folder: Workspace) -> None:
    folder.configure(num_sample=3)

    assert "Did you mean `num_samples`?" in problems(folder)["configuration"]


def test_a_configuration_that_is_not_there(folder: Workspace) -> None:
    assert "file not found" in problems(folder, "-c", "missing.yaml")["configuration"]


def test_a_broken_store_is_found_and_left_as_it_is(folder: Workspace) -> None:
    path = folder.write(".prompt_evaluator/store.db", b"not a database, but long enough to be looked at " * 100)
    before = path.read_bytes()

    assert "is not a database" in problems(folder)["store"]
    assert path.read_bytes() == before


def test_the_store_of_a_newer_version_is_refused(folder: Workspace) -> None:
    folder.evaluate("--quick")
    with closing(sqlite3.connect(folder.folder / ".prompt_evaluator/store.db")) as store, store:
        store.execute("UPDATE alembic_version SET version_num = '9999'")

    assert "Update prompt-evaluator" in problems(folder)["store"]


def test_a_run_without_an_owner_is_interrupted(folder: Workspace) -> None:
    run_id = folder.evaluate("--quick").run_id
    with closing(sqlite3.connect(folder.folder / ".prompt_evaluator/store.db")) as store, store:
        store.execute("UPDATE runs SET status = 'running'")
    folder.write(".prompt_evaluator/locks/gone.lock", "")

    found = " ".join(notes(folder))

    assert f"interrupted: {run_id}" in found
    assert f"prompt-evaluator resume {run_id}" in found
    assert "1 lock file of deleted runs" in found
    assert problems(folder) == {}


def test_the_key_of_a_model_in_use_is_missed_and_others_only_noted(folder: Workspace) -> None:
    folder.configure(generator={"model": "openai/x"})

    assert "Set OPENAI_API_KEY" in problems(folder)["keys"]
    assert any("ANTHROPIC_API_KEY is missing" in note for note in notes(folder))

    folder.write(".env", "OPENAI_API_KEY=something\n")

    assert problems(folder) == {}


def test_models_kinds_rubrics_and_folders_are_looked_at(folder: Workspace) -> None:
    folder.write("file", "")
    folder.configure(
        generator={"model": "opnai/x"}, providers={"x": {"kind": "mok"}}, rubric="defualt", output_dir="file/runs"
    )

    found = problems(folder)

    assert "Did you mean 'openai'?" in found["generator.model"]
    assert "Did you mean 'mock'?" in found["providers"]
    assert "Did you mean 'default'?" in found["rubric"]
    assert "file is not a folder" in found["output_dir"]


def test_an_unknown_variable_is_noted(folder: Workspace) -> None:
    folder.environment["PROMPT_EVALUATOR_NUM_SAMPELS"] = "3"

    assert any("Did you mean PROMPT_EVALUATOR_NUM_SAMPLES?" in note for note in notes(folder))


def test_a_short_name_for_nothing_is_noted(folder: Workspace) -> None:
    folder.configure(dataset_paths={"gone": "gone.yaml"})

    assert any("gone.yaml Correct it in prompt_evaluator.yaml, line 2." in note for note in notes(folder))
