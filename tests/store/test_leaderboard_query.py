"""What a leaderboard asks of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trend_runs import add_run, run_id

if TYPE_CHECKING:
    from prompt_evaluator.store import Store

SCORES = [[4.0]]


def test_finished_evaluations_are_read_newest_first_with_their_plans(store: Store) -> None:
    for number, status in enumerate(("completed", "partial", "failed", "aborted", "running")):
        add_run(store, number, SCORES, status=status, model=f"openai/{number}")

    found = store.finished_runs(limit=10)

    assert [(run.run_id, run.plan.target.model) for run in found] == [(run_id(1), "openai/1"), (run_id(0), "openai/0")]
    assert [run.run_id for run in store.finished_runs(limit=1)] == [run_id(1)]


def test_finished_runs_can_be_those_of_some_datasets(store: Store) -> None:
    add_run(store, 1, SCORES, dataset="d1" * 32)
    add_run(store, 2, SCORES, dataset="d2" * 32)

    assert [run.run_id for run in store.finished_runs(["d1" * 32], limit=10)] == [run_id(1)]
    assert store.finished_runs([], limit=10) == []


def test_runs_are_read_by_their_ids(store: Store) -> None:
    ids = [add_run(store, number, SCORES) for number in range(300)]

    found = store.run_lines(ids[:290])

    assert list(found.values()) == [store.run_line(each) for each in found]
    assert found.keys() == set(ids[:290])
