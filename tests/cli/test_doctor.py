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


def test_a_folder_with_runs_is_left_as_it_is(folder: Workspace) -> None:
    folder.evaluate("--quick")
    before = everything(folder)

    assert problems(folder) == {}
    assert everything(folder) == before


def everything(folder: Workspace) -> dict[Path, tuple[float, bytes]]:
    files = [path for path in folder.folder.rglob("*") if path.is_file()]
    return {path: (path.stat().st_mtime, path.read_bytes()) for path in files}


def test_the_store_of_another_version_is_a_problem_and_left_as_it_is(folder: Workspace) -> None:
    folder.evaluate("--quick")
    change(folder, "UPDATE store_version SET revision = '9999'")
    before = everything(folder)

    assert "use the version that made the store" in problems(folder)["store"]
    assert everything(folder) == before


def test_rows_without_their_run_are_damage(folder: Workspace) -> None:
    folder.evaluate("--quick")
    change(folder, "DELETE FROM runs")

    assert "without their row of runs" in problems(folder)["store"]


def test_a_damaged_page_is_found(folder: Workspace) -> None:
    folder.evaluate("--quick")
    path = folder.folder / ".prompt_evaluator/store.db"
    data = path.read_bytes()
    path.write_bytes(data[:-4_096] + b"\xa5" * 4_096)

    assert "Restore a backup" in problems(folder)["store"]


def test_names_of_packages_stand_apart_from_their_versions(folder: Workspace) -> None:
    packages = folder.run("doctor").out.partition("\n\n")[0].splitlines()

    assert len(packages) > 10
    assert [line for line in packages if len(line.split("  ")) < 2] == []


def change(folder: Workspace, statement: str) -> None:
    with closing(sqlite3.connect(folder.folder / ".prompt_evaluator/store.db")) as store, store:
        store.execute(statement)


def test_a_run_without_an_owner_is_interrupted(folder: Workspace) -> None:
    run_id = folder.evaluate("--quick").run_id
    change(folder, "UPDATE runs SET status = 'running'")

    found = " ".join(notes(folder))

    assert f"interrupted: {run_id}" in found
    assert f"prompt-evaluator resume {run_id}" in found
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
