"""Runs that were made can be listed, shown, exported, made again from the store, and deleted."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from workspace import REAL, Workspace, until

from prompt_evaluator.app.export import export_run
from prompt_evaluator.app.run_queries import query_runs
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.upkeep import delete_run, rebuild_runs
from prompt_evaluator.errors import RunBusyError
from prompt_evaluator.model.query import RunQuery

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from chat_service import ChatService
    from workspace import Started

    from prompt_evaluator.model.query import RunLine

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"]


def files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in (folder / "runs").rglob("*")
        if path.is_file() and path.name != ".index.lock"
    }


def list_runs(settings: Any, limit: int = 50) -> list[RunLine]:
    return list(query_runs(settings, RunQuery(limit=limit)).items)


def rows(settings: Any, run_id: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(export_run(settings, run_id, "csv")).decode(), newline="")))


@pytest.fixture
def held(online: Workspace, service: ChatService) -> Iterator[Started]:
    """A run under way whose calls take long."""
    service.set(latency=30)
    started = online.start_evaluation(*REAL, "-n", "1")
    started.wait_until_under_way()
    until(lambda: service.paid > 0)
    yield started
    started.kill()


def test_files_are_made_again_byte_for_byte(offline: Workspace, here: Path) -> None:
    cases = [{"id": at, "input": "x", "checks": [{"metric": "length", "max_words": 3}]} for at in ("a", "A", "b/c")]
    offline.cases(cases)
    for more in (("--metrics", "similarity,signals"), ("--judge-repeats", "2"), ("--fail-under", "length=0.5")):
        offline.evaluate("-n", "2", *more)
    before = files(here)
    for path in (here / "runs").rglob("*"):
        if path.is_file():
            path.unlink()

    rebuilt = [record.status for record in rebuild_runs(read_settings(), None)]

    assert rebuilt == ["completed"] * 3
    assert files(here) == before
    assert len(before) == 3 * 4 + 1


def test_files_of_a_stopped_run_are_made_again_byte_for_byte(
    online: Workspace, service: ChatService, here: Path
) -> None:
    run_id = online.evaluate(*REAL, "-n", "1", "--max-calls", "5", "-j", "1").run_id
    before = files(here)
    (here / "runs" / run_id / "dataset_evaluation.json").unlink()

    (record,) = rebuild_runs(read_settings(), run_id)

    assert record.stop_reason == (
        "The budget of 5 calls allows no further sample: 4 are used, and the next takes about 2."
    )
    assert files(here) == before
    assert service.paid == 4


def test_a_run_under_way_is_neither_deleted_nor_rebuilt(held: Started, here: Path) -> None:
    settings = read_settings()
    (line,) = list_runs(settings)

    assert line.status == "running"
    with pytest.raises(RunBusyError, match=f"process {held.process.pid}"):
        delete_run(settings, line.run_id)
    with pytest.raises(RunBusyError):
        list(rebuild_runs(settings, line.run_id))
    assert list(rebuild_runs(settings, None)) == []
    assert (here / "runs" / line.run_id).is_dir()


def test_a_deleted_run_leaves_nothing_behind(offline: Workspace, here: Path) -> None:
    kept, gone = (offline.evaluate("-n", "1").run_id for _ in range(2))
    settings = read_settings()

    delete_run(settings, gone[:8])

    assert [line.run_id for line in list_runs(settings)] == [kept]
    assert not (here / "runs" / gone).exists()
    assert [entry["run_id"] for entry in offline.index()] == [kept]


def test_a_run_whose_folder_is_gone_can_be_deleted(offline: Workspace, here: Path) -> None:
    run_id = offline.evaluate("-n", "1", "-o", "elsewhere/runs").run_id
    (here / "elsewhere").rename(here / "moved")

    delete_run(read_settings(), run_id)

    assert list_runs(read_settings()) == []
    assert not (here / "elsewhere").exists()


def test_one_document_has_the_run_and_the_same_samples_as_the_lines(offline: Workspace, here: Path) -> None:
    run_id = offline.evaluate("-n", "2", "--tag", "team=search").run_id
    assert here == offline.folder

    parts = list(export_run(read_settings(), run_id, "json"))
    document = json.loads(b"".join(parts))

    assert document["results"] == [json.loads(line) for line in export_run(read_settings(), run_id, "jsonl")]
    assert (document["run"]["run_id"], document["run"]["tags"]) == (run_id, {"team": "search"})
    assert document["run"]["totals"]["samples"] == {"completed": 6}
    assert len(parts) == 8, "a part for each sample, so that any number can be streamed"


def test_an_export_that_is_not_read_leaves_the_store_alone(offline: Workspace, here: Path) -> None:
    run_id = offline.evaluate("-n", "1").run_id
    assert here == offline.folder

    unread = export_run(read_settings(), run_id, "json")
    begun = export_run(read_settings(), run_id, "jsonl")
    next(begun)
    begun.close()  # type: ignore[attr-defined]  # a generator, as a server closes it if the client has left

    delete_run(read_settings(), run_id)
    assert list_runs(read_settings()) == []
    del unread


def test_a_table_has_a_column_for_every_metric_also_for_those_of_single_cases(offline: Workspace, here: Path) -> None:
    checks = [{"metric": "length", "max_words": 1}, {"metric": "cost", "max_usd": 1}]
    offline.cases([{"id": "a", "input": "x"}, {"id": "b", "input": "y", "checks": checks}])
    run_id = offline.evaluate("-n", "1", "--metrics", "similarity").run_id
    assert here == offline.folder

    plain, checked = rows(read_settings(), run_id)

    assert set(plain) >= {"semantic_fidelity", "invented_constraints", "similarity", "length", "cost", "cost_score"}
    assert (plain["length"], plain["cost_score"], plain["cost"]) == ("", "", "0.0")
    assert (checked["length"], checked["cost_score"]) == ("0.0", "1.0")


def test_no_cell_is_a_formula_and_every_other_text_stays(offline: Workspace, here: Path) -> None:
    plain = 'one,\n"two"\r\nthree; ☕'
    offline.cases([{"id": f"c{at}", "input": text} for at, text in enumerate([*FORMULAS, plain])])
    offline.write("echo.py", "def echo(question): return question\n")
    run_id = offline.evaluate(
        *("-n", "1", "--generator-model", "python:echo:echo", "--judge-model", "mock/x", "--allow-mock-judge")
    ).run_id
    assert here == offline.folder

    found = rows(read_settings(), run_id)

    assert [row["input"] for row in found] == [*(f"'{text}" for text in FORMULAS), plain]
    assert all(row["output"] == row["input"] for row in found)
    assert not any(cell.startswith(tuple("=+-@\t\r")) for row in found for cell in row.values())
