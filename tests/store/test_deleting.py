"""A deleted run leaves nothing behind, and takes nothing with it that belongs to another run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from case_results import JUDGES, case_result, flag
from stores import ON_FILE, sql

from prompt_evaluator.errors import LabelledRunError, PinnedRunError, RunBusyError, UnknownNameError
from prompt_evaluator.model import TestCase
from prompt_evaluator.model.release import Baseline, Verdict
from prompt_evaluator.store.result_tables import BASELINES
from prompt_evaluator.store.schema import METADATA

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import Label, RunRecord, Unit
    from prompt_evaluator.store import Store

WHEN = "2026-01-31T12:00:00.000Z"
OF_RUNS = [table.name for table in METADATA.sorted_tables if "run_id" in table.c and table is not BASELINES]


@pytest.fixture
def runs(
    store: Store, record: Callable[..., RunRecord], unit: Callable[..., Unit], label: Callable[..., Label]
) -> tuple[str, str]:
    """Two runs with something of everything."""
    for run_id in ("run-kept", "run-gone"):
        store.create_run(record(run_id), [TestCase(id="case-0", input="?")])
        writer = store.writer(run_id)
        writer.put(unit(name=run_id.encode()))
        writer.put_case(0, case_result(per_flag_stats={"rude": flag(1)}), JUDGES)
        writer.close()
        store.update_run(run_id, status="completed", ended_at=WHEN)
        store.enqueue({"asked_by": "anna"}, requested_at=WHEN, run_id=run_id)
        store.add_verdict(Verdict(run_id=run_id, verdict="pass", created_at=WHEN, policy={}, reasons=()))
        store.add_labels([label(run_id)])
    return "run-kept", "run-gone"


def rows(location: Path | str, run_id: str) -> dict[str, list[tuple[Any, ...]]]:
    return {name: sql(location, f"SELECT * FROM {name} WHERE run_id = ?", run_id) for name in OF_RUNS}


def test_every_row_of_a_run_goes_with_it_and_no_other(
    store: Store, runs: tuple[str, str], location: Path | str
) -> None:
    kept, gone = runs
    before = rows(location, kept)
    assert sum(map(bool, before.values())) >= 9, "the run has something in nearly every table"

    store.delete_run(gone, with_labels=True)

    assert [name for name, found in rows(location, gone).items() if found] == []
    assert rows(location, kept) == before
    with pytest.raises(UnknownNameError):
        store.delete_run(gone)


@ON_FILE
def test_the_lock_of_a_run_goes_with_it(store: Store, runs: tuple[str, str], location: Path) -> None:
    for run_id in runs:
        with store.own(run_id):
            pass

    store.delete_run(runs[1], with_labels=True)

    assert [path.stem for path in (location.parent / "locks").glob("run-*")] == [runs[0]]


def test_a_run_with_labels_is_not_deleted_unless_that_is_wanted(store: Store, runs: tuple[str, str]) -> None:
    with pytest.raises(
        LabelledRunError, match=r"Run run-gone has 1 label.* --with-labels to delete the run"
    ) as refused:
        store.delete_run(runs[1])

    assert (refused.value.run_id, refused.value.labels) == (runs[1], 1)
    assert len(store.labels(runs[1])) == 1


def test_a_baseline_is_not_deleted(store: Store, run_id: str) -> None:
    store.pin(Baseline(name="support", run_id=run_id, pinned_at=WHEN))

    with pytest.raises(PinnedRunError, match=r"baseline of 'support'. Unpin it or pin another run first"):
        store.delete_run(run_id)
    store.unpin("support")
    store.delete_run(run_id)

    assert store.runs() == []


def test_a_run_that_is_being_worked_on_is_not_deleted(store: Store, run_id: str) -> None:
    with store.own(run_id), pytest.raises(RunBusyError):
        store.delete_run(run_id)

    assert store.run(run_id).plan.run_id == run_id
