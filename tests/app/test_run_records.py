"""Runs that were made can be listed, shown, exported, made again from the store, and deleted."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pytest
from workspace import REAL, Workspace, until

from prompt_evaluator.app.export import export_run
from prompt_evaluator.app.run_queries import query_runs, show_run
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.upkeep import delete_run, rebuild_runs
from prompt_evaluator.errors import RunBusyError, StoreError, UnknownNameError
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


def test_runs_are_listed_the_newest_first(offline: Workspace, here: Path) -> None:
    first, second = (offline.evaluate("-n", "1", "--run-note", note).run_id for note in ("one", "two"))
    settings = read_settings()

    lines = list_runs(settings)

    assert [(line.run_id, line.note, line.status) for line in lines] == [
        (second, "two", "completed"),
        (first, "one", "completed"),
    ]
    assert lines[0].dataset_path == str(here / "data.jsonl")
    assert (lines[0].cases, lines[0].num_samples, lines[0].synthetic) == (3, 1, True)
    assert [line.run_id for line in list_runs(settings, limit=1)] == [second]


def test_a_run_is_found_by_the_start_of_its_id_and_an_unknown_one_suggests(offline: Workspace, here: Path) -> None:
    run_id = offline.evaluate("-n", "1").run_id
    settings = read_settings()

    assert show_run(settings, run_id[:6]).record.plan.run_id == run_id
    assert here == offline.folder
    for ask in (show_run, delete_run, lambda settings, run_id: export_run(settings, run_id, "csv")):
        with pytest.raises(UnknownNameError, match=f"Did you mean '{run_id}'"):
            ask(settings, run_id[:-1] + ("0" if run_id[-1] != "0" else "1"))


def test_a_run_is_shown_as_its_artifact_says(offline: Workspace, here: Path) -> None:
    done = offline.evaluate("-n", "2")
    assert here == offline.folder

    outcome = show_run(read_settings(), done.run_id)

    assert outcome.result is not None
    artifact = done.artifact
    means = {name: stats.mean_of_means for name, stats in outcome.result.overall_metric_stats.items()}
    assert means == {name: stats["mean_of_means"] for name, stats in artifact["overall_metric_stats"].items()}


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


def test_a_killed_run_is_listed_as_interrupted(held: Started, here: Path) -> None:
    held.kill()

    (line,) = list_runs(read_settings())

    assert line.status == "interrupted"
    assert show_run(read_settings(), line.run_id).record.status == "aborted"
    assert json.loads((here / "runs" / line.run_id / "dataset_evaluation.json").read_bytes())["status"] == "running"


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


def test_samples_are_exported_one_a_line(offline: Workspace, here: Path) -> None:
    run_id = offline.evaluate("-n", "2").run_id
    assert here == offline.folder

    lines = [json.loads(line) for line in export_run(read_settings(), run_id, "jsonl")]

    assert [(line["test_case_id"], line["sample_id"]) for line in lines] == [
        (f"case-{case:03}", f"case-{case:03}-sample-{sample}") for case in range(3) for sample in (1, 2)
    ]
    assert all(line["judge_metrics"] for line in lines)


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


@pytest.mark.parametrize("text", FORMULAS, ids=repr)
def test_no_cell_is_a_formula(offline: Workspace, here: Path, text: str) -> None:
    offline.cases([{"id": text.strip() or "a", "input": text}])
    offline.write("echo.py", "def echo(question): return question\n")
    run_id = offline.evaluate(
        *("-n", "1", "--generator-model", "python:echo:echo", "--judge-model", "mock/x", "--allow-mock-judge")
    ).run_id
    assert here == offline.folder

    (row,) = rows(read_settings(), run_id)

    assert row["input"] == row["output"] == f"'{text}"
    assert not any(cell.startswith(tuple("=+-@\t\r")) for cell in row.values())


def test_a_table_keeps_line_breaks_quotes_and_commas(offline: Workspace, here: Path) -> None:
    text = 'one,\n"two"\r\nthree; ☕'
    offline.cases([{"id": "a", "input": text}])
    run_id = offline.evaluate("-n", "1").run_id
    assert here == offline.folder

    (row,) = rows(read_settings(), run_id)

    assert row["input"] == text


def test_an_empty_store_has_no_runs(here: Path) -> None:
    assert list_runs(read_settings()) == []
    assert list(rebuild_runs(read_settings(), None)) == []
    with pytest.raises(UnknownNameError, match="There is no run 'abcd'"):
        show_run(read_settings(), "abcd")
    assert here.exists()


def test_two_runs_that_begin_alike_are_both_named(offline: Workspace, here: Path) -> None:
    ids = [offline.evaluate("-n", "1").run_id for _ in range(2)]
    assert here == offline.folder

    with pytest.raises((StoreError, UnknownNameError)) as caught:
        show_run(read_settings(), "")

    assert any(run_id in str(caught.value) for run_id in ids)
