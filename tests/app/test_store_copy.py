"""Copying runs between stores of both kinds: complete, repeatable, and never half."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from textwrap import dedent
from typing import TYPE_CHECKING

import msgspec
import pytest
from copied_stores import OTHER, RUNS, add_queue, add_units, everything_of, fill_store, label, rebuild
from labelling import RUN, WHEN, add_run
from stores import sql

from prompt_evaluator.app.store_check import check_store
from prompt_evaluator.app.store_copy import copy_runs
from prompt_evaluator.errors import ConfigurationError, StoreError
from prompt_evaluator.model import TestCase
from prompt_evaluator.model.release import Baseline, Verdict
from prompt_evaluator.store import Store
from prompt_evaluator.store.run_tables import NOT_COPIED, NUMBERED_TABLES, RUN_TABLES
from prompt_evaluator.store.schema import METADATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from prompt_evaluator.model.upkeep import CopyReport, RunCopy

    Location = Path | str

CHILD = """
    import sys
    from pathlib import Path
    from prompt_evaluator.app.store_copy import copy_runs

    source, target = (place if "://" in place else Path(place) for place in sys.argv[1:3])
    stop_at, said = int(sys.argv[3]), 0

    def say(text):
        global said
        said += 1
        print(text, flush=True)
        if said == stop_at:
            sys.stdin.readline()

    print([run.outcome for run in copy_runs(source, target, [], say=say).runs], flush=True)
"""


@pytest.fixture(params=["file to server", "server to file"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Location, Location]:
    """Where to copy from and to."""
    kinds = request.param.split(" to ")
    places: list[Location] = [tmp_path / "from" / "store.db", tmp_path / "to" / "store.db"]
    places[kinds.index("server")] = request.getfixturevalue("database")
    return places[0], places[1]


@pytest.fixture
def source(stores: tuple[Location, Location], tmp_path: Path) -> Location:
    """A store with two runs."""
    fill_store(stores[0], tmp_path / "runs")
    return stores[0]


@pytest.fixture
def target(stores: tuple[Location, Location]) -> Location:
    return stores[1]


@pytest.fixture
def child(source: Location, target: Location) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Starts a process that copies, and waits for a line on its standard input at this many lines of progress."""
    started: list[subprocess.Popen[str]] = []

    def start(stop_at: int = 0) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", dedent(CHILD), str(source), str(target), str(stop_at)]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def copied(source: Location, target: Location, *runs: str) -> CopyReport:
    return copy_runs(source, target, runs, say=lambda _: None)


def outcomes(report: CopyReport) -> dict[str, str]:
    return {run.run_id: run.outcome for run in report.runs}


def only(report: CopyReport, run_id: str) -> RunCopy:
    (found,) = (run for run in report.runs if run.run_id == run_id)
    return found


def rows(location: Location) -> dict[str, int]:
    return {name: sql(location, f"SELECT count(*) FROM {name}")[0][0] for name in METADATA.tables}


def problems(location: Location) -> list[str]:
    report = check_store(location, str(location), deep=True, say=lambda _: None)
    return [finding.text for finding in report.findings if finding.level == "problem"]


def test_copied_runs_answer_every_question_as_before(source: Location, target: Location) -> None:
    report = copied(source, target)

    assert report.ok
    assert set(outcomes(report).values()) == {"copied"}
    assert [everything_of(target, run_id) for run_id in RUNS] == [everything_of(source, run_id) for run_id in RUNS]
    with closing(Store.open(source)) as one, closing(Store.open(target)) as other:
        assert other.baselines() == one.baselines() != []
        assert other.description(RUN) == one.description(RUN)
    assert problems(target) == []


def test_all_rows_of_runs_are_copied_and_none_of_a_server(source: Location, target: Location) -> None:
    report = copied(source, target)

    before, after = rows(source), rows(target)
    assert after == before | {"queue": 0}
    assert before["queue"] == 1
    assert {"queue", "tokens", "request_keys"} <= set(report.not_copied)
    assert sum(run.rows for run in report.runs) == sum(after.values()) - after["baselines"] - after["views"]


def test_a_copy_that_is_repeated_changes_nothing(source: Location, target: Location) -> None:
    copied(source, target)
    before = [everything_of(target, run_id) for run_id in RUNS]
    with closing(Store.open(target)) as store, store.own(RUN):
        pass  # whoever works on a run leaves no trace in what is compared

    report = copied(source, target)

    assert report.ok
    assert set(outcomes(report).values()) == {"already there"}
    assert report.notes == ()
    assert [everything_of(target, run_id) for run_id in RUNS] == before


def test_one_run_is_copied_by_any_of_its_names(source: Location, target: Location) -> None:
    assert outcomes(copied(source, target, "team=sök ☂")) == {RUN: "copied"}

    assert everything_of(target, RUN) == everything_of(source, RUN)
    with closing(Store.open(target)) as store:
        assert [run.plan.run_id for run in store.runs()] == [RUN]
        assert [baseline.name for baseline in store.baselines()] == ["main"]


def test_a_different_run_with_the_same_id_is_left_alone_and_said(source: Location, target: Location) -> None:
    copied(source, target)
    with closing(Store.open(target)) as store:
        store.add_labels([label(RUN, 1.0)])
        store.describe_run(OTHER, lambda old: old._replace(note="another note"))
    before = [everything_of(target, run_id) for run_id in RUNS]

    report = copied(source, target)

    assert not report.ok
    assert outcomes(report) == dict.fromkeys(RUNS, "left out")
    assert "has a different run with this id: its labels differ" in only(report, RUN).reason
    assert "its record differ" in only(report, OTHER).reason
    assert "delete it there, then copy again" in only(report, RUN).reason
    assert [everything_of(target, run_id) for run_id in RUNS] == before


def test_numbers_that_the_other_store_has_given_are_not_given_twice(
    source: Location, target: Location, tmp_path: Path
) -> None:
    with closing(Store.open(target)) as store:
        add_run(store, "a-run-of-its-own")
        rebuild(store, "a-run-of-its-own", tmp_path)
        taken = add_queue(store, "a-run-of-its-own")
        store.add_labels([label("a-run-of-its-own", 3.0)])

    assert copied(source, target).ok

    with closing(Store.open(target)) as store:
        queues = {each.queue.run_id: each for each in store.label_progress()}
        new = add_queue(store, RUN)
        verdict = store.add_verdict(Verdict(run_id=RUN, verdict="fail", created_at=WHEN))
        store.add_labels([label(RUN, 5.0)])
    numbers = [each.queue.id for each in queues.values()]
    assert queues["a-run-of-its-own"].queue == taken
    assert len({*numbers, new.id}) == 4
    assert new.id > max(numbers)
    assert verdict.id is not None
    assert verdict.id > 2
    before, after = everything_of(source, OTHER), everything_of(target, OTHER)
    assert after["labels"] == before["labels"]
    assert [each.skipped for each in after["queues"]] == [each.skipped for each in before["queues"]] == [1]
    assert outcomes(copied(source, target, OTHER)) == {OTHER: "already there"}


def test_numbers_of_deleted_rows_are_not_given_again(source: Location, target: Location, tmp_path: Path) -> None:
    with closing(Store.open(target)) as store:
        add_run(store, "deleted")
        rebuild(store, "deleted", tmp_path)
        for _ in range(9):
            last = add_queue(store, "deleted")
        store.delete_run("deleted")

    copied(source, target)

    with closing(Store.open(target)) as store:
        assert add_queue(store, RUN).id > last.id


def test_a_name_that_means_another_run_there_is_kept_and_said(source: Location, target: Location) -> None:
    with closing(Store.open(target)) as store:
        add_run(store, "their-own")
        store.pin(Baseline(name="main", run_id="their-own", pinned_at=WHEN))

    report = copied(source, target)

    assert report.ok
    assert report.notes == (f"The baseline 'main' is something else in {report.target}, and was left as it is there.",)
    with closing(Store.open(target)) as store:
        assert [each.run_id for each in store.baselines()] == ["their-own"]


def test_a_run_in_progress_is_left_out_and_its_owner_named(source: Location, target: Location) -> None:
    with closing(Store.open(source)) as store, store.own(RUN):
        report = copied(source, target)

    assert outcomes(report) == {RUN: "left out", OTHER: "copied"}
    assert "it is in progress, made by process " in only(report, RUN).reason
    assert outcomes(copied(source, target)) == {RUN: "copied", OTHER: "already there"}


def test_a_run_that_waits_for_a_server_is_left_out(source: Location, target: Location) -> None:
    sql(source, "UPDATE runs SET status = 'queued' WHERE run_id = ?", RUN)

    assert "it waits for a server" in only(copied(source, target), RUN).reason


def test_a_copy_that_is_killed_leaves_no_run_and_can_be_repeated(
    source: Location, target: Location, child: Callable[..., subprocess.Popen[str]]
) -> None:
    add_units(source, RUN, 2_000)
    killed = child(stop_at=5)
    assert killed.stdout is not None
    for _ in range(5):
        assert "copying" in killed.stdout.readline()

    killed.kill()
    killed.wait()
    with closing(Store.open(target)) as store:
        assert store.runs() == []
        assert store.labels() == []
    report = copied(source, target)

    assert report.ok
    assert set(outcomes(report).values()) == {"copied"}
    assert everything_of(target, RUN) == everything_of(source, RUN)
    assert problems(target) == problems(source)


def test_what_a_killed_copy_has_left_in_a_file_is_found_by_a_check(tmp_path: Path) -> None:
    source, target = tmp_path / "from.db", tmp_path / "to.db"
    fill_store(source, tmp_path / "runs")
    copied(source, target)
    for name in [*(each.table.name for each in NUMBERED_TABLES), "baselines", "runs"]:
        sql(target, f"DELETE FROM {name}")

    found = problems(target)

    assert f"7 rows in `units` belong to run {RUN}, which is not there." in found
    assert copied(source, target).ok
    assert problems(target) == []


def test_of_two_copies_at_once_one_waits_for_the_other(
    source: Location, target: Location, child: Callable[..., subprocess.Popen[str]]
) -> None:
    add_units(source, RUN, 2_000)
    Store.open(target).close()
    first = child(stop_at=3)
    assert first.stdout is not None
    assert first.stdin is not None
    for _ in range(3):
        first.stdout.readline()

    second = child()
    assert second.stdout is not None
    line = second.stdout.readline()
    first.stdin.write("\n")
    first.stdin.flush()
    said = [process.communicate(timeout=120)[0].splitlines()[-1] for process in (first, second)]

    assert f"waiting for process {first.pid} on " in line
    assert said[0] == "['copied', 'copied']"
    assert said[1].startswith("['already there', ")
    assert everything_of(target, RUN) == everything_of(source, RUN)


def test_a_run_that_cannot_be_read_stops_no_other_and_leaves_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "from.db", tmp_path / "to.db"
    fill_store(source, tmp_path / "runs")
    sql(source, "UPDATE sample_results SET comment = CAST(x'ff' AS TEXT) WHERE run_id = ?", RUN)

    report = copied(source, target)

    assert outcomes(report) == {RUN: "left out", OTHER: "copied"}
    assert only(report, RUN).reason.startswith(f"The store {source} cannot be used: Could not decode to UTF-8")
    assert problems(target) == []


def test_the_same_store_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be copied to itself"):
        copied(tmp_path / "store.db", tmp_path / "." / "store.db")


def test_a_source_that_is_not_there_is_refused_and_nothing_is_created(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"There is no store .*nowhere\.db"):
        copied(tmp_path / "nowhere.db", tmp_path / "to.db")

    assert list(tmp_path.iterdir()) == []


def test_a_text_with_a_nul_character_is_replaced_on_a_server_and_an_id_with_one_refused(
    tmp_path: Path, database: str
) -> None:
    source = tmp_path / "store.db"
    with closing(Store.open(source)) as store:
        for run_id in RUNS:
            add_run(store, run_id)
        sql(source, "UPDATE runs SET note = ? WHERE run_id = ?", "a\x00b", RUN)
        data = msgspec.json.encode(TestCase(id="a\x00b", input="?"))
        sql(source, "INSERT INTO cases (run_id, position, case_id, data) VALUES (?, 3, ?, ?)", OTHER, "a\x00b", data)

    report = copied(source, database)

    assert sql(database, "SELECT note FROM runs") == [("a\ufffdb",)]
    assert only(report, OTHER).outcome == "left out"
    assert r"its case_id 'a\x00b' contains a NUL character" in only(report, OTHER).reason
    assert outcomes(copied(source, database))[RUN] == "already there"


def test_a_table_of_runs_that_a_later_version_adds_is_copied_without_being_listed() -> None:
    known = {each.table.name for each in RUN_TABLES} | {"runs", "baselines", "views"}

    assert known | set(NOT_COPIED) == set(METADATA.tables)
    assert all(each.columns == tuple(each.table.c) for each in RUN_TABLES)
    assert all("run_id" in each.table.c or each.parent for each in RUN_TABLES)
