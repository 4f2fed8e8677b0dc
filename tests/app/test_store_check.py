"""Checking a store: what is wrong is a sentence with advice, whatever is wrong, and nothing is changed."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from copied_stores import OTHER, fill_store, rebuild
from labelling import RUN
from stores import give_scores_rows, sql

from prompt_evaluator.app.store_check import check_store
from prompt_evaluator.store import Store
from prompt_evaluator.store.schema import HEAD

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.upkeep import StoreFinding, StoreReport

    Location = Path | str


@pytest.fixture(params=["file", "server"])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """A store with two runs."""
    place: Location = request.getfixturevalue("database") if request.param == "server" else tmp_path / "store.db"
    fill_store(place, tmp_path / "runs")
    return place


def checked(location: Location, *, deep: bool = False) -> StoreReport:
    return check_store(location, "the store", deep=deep, say=lambda _: None)


def found(location: Location, *, deep: bool = False) -> list[StoreFinding]:
    return [finding for finding in checked(location, deep=deep).findings if finding.level == "problem"]


def test_a_sound_store_has_no_problems(location: Location) -> None:
    for deep in (False, True):
        report = checked(location, deep=deep)

        assert (report.ok, report.findings) == (True, ())
        assert (report.revision, report.runs, report.deep) == (HEAD, 2, deep)


def test_a_run_without_files_is_a_note_because_they_may_be_elsewhere(tmp_path: Path, location: Location) -> None:
    (tmp_path / "runs").rename(tmp_path / "away")

    report = checked(location)

    assert report.ok
    (note,) = report.findings
    assert note.level == "note"
    assert note.text.startswith("2 runs have no files on this machine: ")
    assert f"`prompt-evaluator runs rebuild {note.text.split(': ')[1].split(',')[0]}` writes them again." in note.advice


def test_results_that_are_missing_are_said_and_can_be_rebuilt(tmp_path: Path, location: Location) -> None:
    for table in ("sample_results", "case_flags", "case_metrics", "case_results"):
        sql(location, f"DELETE FROM {table} WHERE run_id = ? AND position = 1", RUN)

    first = found(location)[0]
    with closing(Store.open(location)) as store:
        rebuild(store, RUN, tmp_path / "runs")

    assert first.text == f"Run {RUN}: 3 cases have units, but 2 have results."
    assert first.advice.endswith(f"`prompt-evaluator runs rebuild {RUN}`.")
    assert first.run_id == RUN
    assert found(location, deep=True) == []


def test_rows_of_a_result_that_is_gone_are_said(location: Location) -> None:
    sql(location, "DELETE FROM case_results WHERE run_id = ? AND position = 0", RUN)

    texts = [finding.text for finding in found(location)]

    assert f"Run {RUN}: 2 rows in `sample results` belong to a result that is not there." in texts


def test_a_score_that_was_changed_is_found_only_in_depth(location: Location) -> None:
    changed = '{"clarity":{"score":1.0,"rationale":"","passed":true}}'
    sql(location, "UPDATE sample_results SET scores = ? WHERE run_id = ? AND position = 0 AND sample = 1", changed, RUN)

    assert found(location) == []
    (problem,) = found(location, deep=True)
    assert problem.text == f"Run {RUN}: the results of 1 case are not those of their units: refund."


def test_results_of_an_earlier_version_are_those_of_their_units_once_they_are_upgraded(location: Location) -> None:
    give_scores_rows(location)
    sql(location, "UPDATE alembic_version SET version_num = '0013'")

    Store.open(location, upgrade="always").close()

    assert found(location, deep=True) == []


def test_a_number_that_was_changed_is_found_only_in_depth(location: Location) -> None:
    sql(location, "UPDATE sample_results SET latency_ms = 77 WHERE run_id = ? AND position = 0 AND sample = 1", RUN)

    assert found(location) == []
    (problem,) = found(location, deep=True)
    assert problem.text == f"Run {RUN}: the results of 1 case are not those of their units: refund."


def test_a_summary_that_was_changed_is_found_in_depth(location: Location) -> None:
    ((summary,),) = sql(location, "SELECT summary FROM runs WHERE run_id = ?", RUN)
    sql(
        location,
        "UPDATE runs SET summary = ? WHERE run_id = ?",
        summary.replace('"reused_units":0', '"reused_units":5'),
        RUN,
    )

    (problem,) = found(location, deep=True)

    assert problem.text == f"Run {RUN}: its summary is not that of its units."


def test_a_summary_that_counts_other_cases_is_found(location: Location) -> None:
    sql(location, "UPDATE case_results SET status = 'completed' WHERE run_id = ? AND position = 2", RUN)

    (problem,) = found(location)

    assert problem.text == f"Run {RUN}: the cases and samples counted in its summary are not those of its results."


def test_cases_that_are_missing_are_said(location: Location) -> None:
    sql(location, "DELETE FROM cases WHERE run_id = ? AND position = 2", RUN)

    texts = [finding.text for finding in found(location)]

    assert f"Run {RUN}: cases are missing: its plan has 3 cases, the store 2." in texts
    assert f"Run {RUN}: 2 rows in `units` belong to a case that is not there." in texts


def test_an_interrupted_run_is_said_and_one_in_progress_is_not(location: Location) -> None:
    sql(location, "UPDATE runs SET status = 'running' WHERE run_id = ?", RUN)

    with closing(Store.open(location)) as store, store.own(RUN):
        assert found(location) == []
    (problem,) = found(location)

    assert problem.text == f"Run {RUN} is marked as running, but no process works on it."
    assert problem.advice == f"Continue it with `prompt-evaluator resume {RUN}`."


def test_a_request_for_a_run_that_is_gone_is_said(location: Location) -> None:
    with closing(Store.open(location)) as store:
        number = store.enqueue({}, requested_at="2026", run_id="gone").id

    (problem,) = found(location)

    assert problem.text == f"Request {number} in the queue is for run gone, which is not there."


def test_a_run_that_cannot_be_read_hides_no_other(location: Location) -> None:
    sql(location, "UPDATE runs SET plan = ? WHERE run_id = ?", b"{", RUN)
    sql(location, "UPDATE runs SET status = 'running' WHERE run_id = ?", OTHER)

    problems = {finding.run_id: finding.text for finding in found(location)}

    assert problems[RUN].startswith(f"Run {RUN} cannot be checked: ")
    assert problems[OTHER].endswith("but no process works on it.")


def test_rows_without_a_run_are_said(tmp_path: Path) -> None:
    fill_store(tmp_path / "store.db", tmp_path / "runs")
    sql(tmp_path / "store.db", "DELETE FROM runs WHERE run_id = ?", OTHER)

    problems = found(tmp_path / "store.db")

    assert f"2 rows in `labels` belong to run {OTHER}, which is not there." in [each.text for each in problems]
    assert all(each.run_id == OTHER for each in problems)


@pytest.mark.parametrize("place", [0, 9, 35])
def test_a_page_of_garbage_is_said_without_a_traceback(tmp_path: Path, place: int) -> None:
    location = tmp_path / "store.db"
    fill_store(location, tmp_path / "runs")
    sql(location, "PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(location.read_bytes())
    data[place * 4_096 + 200 : (place + 1) * 4_096] = b"\xa5" * 3_896
    location.write_bytes(data)

    for deep in (False, True):
        report = checked(location, deep=deep)

        assert not report.ok
        assert all("\n" not in finding.text for finding in report.findings)
    assert location.read_bytes() == data


def test_a_store_of_an_earlier_version_is_said_and_not_migrated(location: Location) -> None:
    sql(location, "UPDATE alembic_version SET version_num = '0007'")

    report = checked(location)

    assert report.revision == "0007"
    (problem,) = report.findings
    assert "Run `prompt-evaluator store migrate`" in problem.advice
    assert sql(location, "SELECT version_num FROM alembic_version") == [("0007",)]


def test_a_store_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    (tmp_path / "notes.db").write_bytes(b"my notes\n" * 1_000)

    for place, said in (
        (tmp_path / "nowhere.db", "There is no store"),
        (tmp_path / "notes.db", "is not a database"),
        ("postgresql://127.0.0.1:1/db", "cannot be used: connection failed"),
    ):
        report = checked(place)

        assert (report.ok, report.revision) == (False, None)
        assert said in report.findings[0].text
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.db"]
