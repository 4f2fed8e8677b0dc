"""A store that an earlier version made is brought up to date, and keeps all it has."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from alembic import command
from alembic.config import Config
from labelling import RUN, add_run
from sqlalchemy import inspect
from stores import ON_SERVER, engine, sql

from prompt_evaluator.app import outcomes
from prompt_evaluator.app.filling import StoredResults
from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import JudgeConfig, TestCase
from prompt_evaluator.store import Store
from prompt_evaluator.store.schema import HEAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Label, RunRecord, Unit
    from prompt_evaluator.model.query import CaseDetail, RunLine
    from prompt_evaluator.model.result import RunResult

    MakeRecord = Callable[..., RunRecord]


def make_store(location: Path | str, revision: str) -> None:
    """A store as the version with this revision made it."""
    if isinstance(location, Path):
        location.parent.mkdir(parents=True, exist_ok=True)
    config = Config()
    config.set_main_option("script_location", "prompt_evaluator.store:migrations")
    with engine(location) as made, made.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def add_old_run(location: Path | str, record: RunRecord, case: TestCase) -> None:
    plan, run_id = msgspec.json.encode(record.plan), record.plan.run_id
    columns = "run_id, group_id, status, started_at, plan"
    sql(location, f"INSERT INTO runs ({columns}) VALUES (?, ?, ?, ?, ?)", run_id, "g", "running", "2025", plan)
    sql(location, "INSERT INTO cases VALUES (?, 0, ?, ?)", run_id, case.id, msgspec.json.encode(case))
    values = (run_id, case.id, b"name", "generation", 1, 0, True, b"{}")
    sql(location, "INSERT INTO units VALUES (?, ?, ?, ?, ?, ?, ?, ?)", *values)


@pytest.fixture
def old(location: Path | str, record: MakeRecord) -> Path | str:
    """A store of the first version, with a run in it."""
    make_store(location, "0001")
    add_old_run(location, record(), TestCase(id="case-0", input="hello"))
    return location


def test_a_store_of_the_first_version_keeps_its_runs(
    old: Path | str, record: MakeRecord, unit: Callable[..., Unit]
) -> None:
    store = Store.open(old, upgrade="always")

    assert store.run("run-0001").plan == record().plan
    assert [stored.case.id for stored in store.cases("run-0001")] == ["case-0"]
    assert store.units("run-0001", ["case-0"]) == {"case-0": [unit(sample=1, attempt=0)]}
    assert sql(old, "SELECT version_num FROM alembic_version") == [(HEAD,)]
    store.close()


def test_a_run_of_the_first_version_can_be_continued_and_labelled(
    old: Path | str, unit: Callable[..., Unit], label: Callable[..., Label]
) -> None:
    store = Store.open(old, upgrade="always")
    writer = store.writer("run-0001")
    writer.put(unit(name=b"second try", sample=1, attempt=1))
    writer.close()

    store.add_labels([label(sample=1, attempt=1)])
    store.close()

    reopened = Store.open(old, upgrade="always")
    assert [found.attempt for found in reopened.units("run-0001", ["case-0"])["case-0"]] == [0, 1]
    assert reopened.labels("run-0001") == [label(sample=1, attempt=1)]
    reopened.close()


@ON_SERVER
def test_a_step_that_fails_leaves_the_store_as_it_was(old: str) -> None:
    sql(old, "CREATE TABLE labels AS SELECT 'mine' AS x")

    with pytest.raises(StoreError, match='relation "labels" already exists'):
        Store.open(old, upgrade="always")

    assert sql(old, "SELECT version_num FROM alembic_version") == [("0001",)]
    assert sql(old, "SELECT x FROM labels") == [("mine",)]


FIRST = "734ac4ae-a734-471f-afdd-08c757a8259e"
"""A run as the first version kept it: two cases, judged twice by a rubric, and a metric that broke."""


def make_first(location: Path | str) -> None:
    """A store of the first version with that run: the file as it was, or its rows on a server."""
    script = (Path(__file__).parent / "first_version.sql").read_text("utf-8")
    if isinstance(location, Path):
        location.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(location)) as connection:
            connection.executescript(script)
        return
    make_store(location, "0001")
    with closing(sqlite3.connect(":memory:")) as kept:
        kept.executescript(script)
        for table in ("runs", "cases", "units"):
            rows = kept.execute(f"SELECT * FROM {table}")
            names = [column[0] for column in rows.description]
            marks = ", ".join("?" * len(names))
            for row in rows:
                values = [bool(value) if name == "ok" else value for name, value in zip(names, row, strict=True)]
                sql(location, f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", *values)


def test_what_the_first_version_measured_reads_as_it_did(location: Path | str) -> None:
    make_first(location)

    with closing(Store.open(location, upgrade="always", fill=StoredResults)) as store:
        result = store.run_line(FIRST).summary

    assert result is not None
    found = {name: round(stats.mean_of_means, 4) for name, stats in result.overall_metric_stats.items()}
    assert found == {
        "semantic_fidelity": 4.16,
        "decomposition_quality": 3.835,
        "constraint_adherence": 4.0912,
        "similarity": 0.5172,
        "correctness": 0.7611,
        "length": 0.0,
    }
    stats = result.overall_metric_stats
    assert (stats["similarity"].pass_rate, stats["correctness"].pass_rate) == (0.0, 1.0)
    assert stats["semantic_fidelity"].repeat_std == pytest.approx(0.075217, abs=1e-6)
    assert result.overall_flag_stats["invented_constraints"].true_count == 1
    assert result.totals.errors == {"RuntimeError": 4}
    assert result.totals.samples == {"judge_error": 4}
    assert (result.totals.input_tokens, result.totals.output_tokens) == (9_315, 1_122)


def everything_said(store: Store, run_id: str) -> tuple[RunLine, list[CaseDetail]]:
    """All but the status of the run, which earlier versions chose by other rules."""
    line = store.run_line(run_id)
    summary = msgspec.structs.replace(line.summary, status="running") if line.summary else None
    line = msgspec.structs.replace(line, status="", summary=summary)
    return line, [store.case_detail(run_id, case_id) for case_id in store.case_ids(run_id)]


def rebuild(store: Store, run_id: str, folder: Path) -> None:
    """Make the rows again, as a new run writes them, from the same units."""
    record = store.run(run_id)
    plan = msgspec.structs.replace(record.plan, output_dir=str(folder))
    outcomes.rebuild(store, msgspec.structs.replace(record, plan=plan))


def test_a_run_of_the_first_version_gets_the_rows_that_a_new_run_has(location: Path | str, tmp_path: Path) -> None:
    make_first(location)

    with closing(Store.open(location, upgrade="always", fill=StoredResults)) as store:
        filled = everything_said(store, FIRST)
        rebuild(store, FIRST, tmp_path)
        again = everything_said(store, FIRST)

    assert filled == again
    line, (steep, milk) = filled
    assert (line.dataset_name, line.num_samples, line.errors) == ("d", 2, {"RuntimeError": 4})
    assert (steep.case.input, steep.case.status) == ("How long should green tea steep?", "partial")
    assert steep.case.content_hash is not None
    assert steep.case.metrics.keys() >= {"semantic_fidelity", "similarity", "correctness", "length"}
    first = steep.samples[0]
    assert (first.scores["semantic_fidelity"].judge, first.scores["similarity"].judge) == (line.judge_model, None)
    assert first.scores["correctness"].judge == line.judge_model
    assert len(first.scores["semantic_fidelity"].repeats) == 2
    assert [sample.error_kind for sample in milk.samples] == ["RuntimeError"] * 2


def make_second(location: Path | str, source: Path) -> None:
    """A store of revision 0002 with the runs of a store of today."""
    make_store(location, "0002")
    for table in ("runs", "cases", "units"):
        columns = {
            "runs": "run_id, group_id, parent_run_id, status, started_at, ended_at, stop_reason, plan",
            "cases": "run_id, position, case_id, data",
            "units": "run_id, case_id, name, kind, sample, repeat, ok, data, attempt",
        }[table]
        marks = ", ".join("?" * (columns.count(",") + 1))
        for row in sql(source, f"SELECT {columns} FROM {table}"):
            values = [
                bool(value) if name == " ok" else value for name, value in zip(columns.split(","), row, strict=True)
            ]
            sql(location, f"INSERT INTO {table} ({columns}) VALUES ({marks})", *values)


@pytest.fixture
def today(tmp_path: Path) -> Path:
    """A store of today's revision with a run and its rows."""
    path = tmp_path / "today" / "store.db"
    with closing(Store.open(path)) as store:
        add_run(store)
        rebuild(store, RUN, tmp_path)
    return path


def test_a_run_of_the_second_version_gets_the_rows_that_a_new_run_has(location: Path | str, today: Path) -> None:
    make_second(location, today)

    migrated = Store.open(location, upgrade="always", fill=StoredResults)
    with closing(migrated) as store, closing(Store.open(today)) as other:
        filled, wanted = everything_said(store, RUN), everything_said(other, RUN)

    assert filled == wanted
    assert [detail.case.status for detail in filled[1]] == ["pending", "pending", "failed"]
    assert len(filled[1][2].samples) == 2


def test_a_crash_while_rows_are_made_leaves_the_old_store_untouched(location: Path | str, today: Path) -> None:
    make_second(location, today)

    class Broken(StoredResults):
        def result(self) -> RunResult:
            raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        Store.open(location, upgrade="always", fill=Broken)

    assert sql(location, "SELECT version_num FROM alembic_version") == [("0002",)]
    assert sql(location, "SELECT count(*) FROM runs") == [(1,)]
    with engine(location) as made:
        assert not {"scores", "case_results"} & set(inspect(made).get_table_names())


def test_a_run_that_cannot_be_read_keeps_no_other_from_getting_its_rows(location: Path | str, today: Path) -> None:
    make_second(location, today)
    columns = "run_id, group_id, status, started_at, plan"
    sql(location, f"INSERT INTO runs ({columns}) VALUES (?, ?, ?, ?, ?)", "a damaged run", "g", "failed", "2020", b"{")

    with closing(Store.open(location, upgrade="always", fill=StoredResults)) as store:
        assert store.run_line("a damaged run").num_samples is None
        assert len(store.case_detail(RUN, "unanswered").samples) == 2


def test_a_store_of_the_fourth_version_gets_the_hashes_of_judges_that_a_new_run_has(
    location: Path | str, today: Path
) -> None:
    make_store(location, "0004")
    with closing(Store.open(today)) as store:
        record = store.run(RUN)
        judge = JudgeConfig(model="mock/judge", identity="mock", seed=7)
        plan = msgspec.structs.replace(record.plan, run_id="judged", judge=judge)
        store.create_run(msgspec.structs.replace(record, plan=plan), [])
    columns = "run_id, group_id, status, started_at, plan, judge_hash"
    rows = sql(today, "SELECT run_id, group_id, status, started_at, plan, 'with its seed' FROM runs")
    damaged = ("a damaged run", "g", "failed", "2020", b"{", "kept")
    for row in (*rows, damaged):
        sql(location, f"INSERT INTO runs ({columns}) VALUES (?, ?, ?, ?, ?, ?)", *row)

    with closing(Store.open(location, upgrade="always")) as store, closing(Store.open(today)) as other:
        wanted = other.run_line("judged").judge_hash

        assert wanted is not None
        assert store.run_line("judged").judge_hash == wanted
        assert store.run_line("a damaged run").judge_hash == "kept"


def test_without_anything_to_fill_with_runs_still_get_their_columns(location: Path | str, today: Path) -> None:
    make_second(location, today)

    with closing(Store.open(location, upgrade="always")) as store:
        line = store.run_line(RUN)
        detail = store.case_detail(RUN, "refund")

    assert (line.num_samples, line.generator_model, line.summary) == (2, "mock/default", None)
    assert (detail.case.input, detail.case.status, detail.samples) == ("May I?", "pending", ())


def test_a_store_of_the_fifth_version_gets_tokens_request_keys_and_runs_that_can_be_stopped(
    location: Path | str, today: Path
) -> None:
    make_store(location, "0005")
    columns = "run_id, group_id, status, started_at, plan"
    for row in sql(today, f"SELECT {columns} FROM runs"):
        sql(location, f"INSERT INTO runs ({columns}) VALUES (?, ?, 'running', ?, ?)", *row[:2], *row[3:])

    with closing(Store.open(location, upgrade="always")) as store:
        assert store.request_stop(RUN, "cancelled")
    for table in ("tokens", "request_keys"):
        assert sql(location, f"SELECT * FROM {table}") == []


def test_a_store_of_the_eighth_version_knows_who_asked_for_the_runs_that_wait(location: Path | str) -> None:
    make_store(location, "0008")
    for request in ('{"asked_by": "anna"}', '{"asked_by": "anna"}', '{"asked_by": "ben"}', "{}"):
        row = ("waiting", "1", request)
        sql(location, "INSERT INTO queue (state, requested_at, request) VALUES (?, ?, ?)", *row)

    with closing(Store.open(location, upgrade="always")) as store:
        taken = [found.request for _ in range(4) if (found := store.take_next(started_at="2"))]

    assert taken == [{"asked_by": "anna"}, {"asked_by": "ben"}, {}, {"asked_by": "anna"}]
