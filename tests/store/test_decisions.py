"""Baselines, verdicts and the queue: kept in order, found again, safe for two processes."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec
import pytest

from prompt_evaluator.errors import StoreError, UnknownNameError
from prompt_evaluator.model.release import Baseline, Verdict
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunRecord

WHEN = "2026-01-31T12:00:00.000Z"


def test_a_name_has_one_baseline_the_one_that_was_pinned_last(
    store: Store, run_id: str, record: Callable[..., RunRecord]
) -> None:
    store.create_run(record("run-0002"), [])
    store.pin(Baseline(name="tea", run_id=run_id, pinned_at=WHEN))
    store.pin(Baseline(name="coffee", run_id=run_id, pinned_at=WHEN, note="a good one"))
    store.pin(Baseline(name="tea", run_id="run-0002", pinned_at=WHEN))

    assert store.baselines() == [
        Baseline(name="coffee", run_id=run_id, pinned_at=WHEN, note="a good one"),
        Baseline(name="tea", run_id="run-0002", pinned_at=WHEN),
    ]


def test_only_a_run_that_is_there_can_be_pinned_and_a_failed_pin_changes_nothing(store: Store, run_id: str) -> None:
    store.pin(Baseline(name="tea", run_id=run_id, pinned_at=WHEN))

    with pytest.raises(StoreError, match="Run run-nowhere cannot be pinned"):
        store.pin(Baseline(name="tea", run_id="run-nowhere", pinned_at=WHEN))

    assert [each.run_id for each in store.baselines()] == [run_id]


def test_an_unknown_baseline_is_refused_with_the_nearest(store: Store, run_id: str) -> None:
    store.pin(Baseline(name="tea", run_id=run_id, pinned_at=WHEN))

    with pytest.raises(UnknownNameError, match=r"There is no baseline 'teas'. Did you mean 'tea'\?"):
        store.unpin("teas")


def test_verdicts_are_added_and_the_newest_comes_first(store: Store, run_id: str) -> None:
    given = Verdict(
        run_id=run_id, baseline_run_id="run-0", verdict="fail", created_at=WHEN, policy={"margin": 0.1}, reasons=("☕",)
    )
    first = store.add_verdict(given)
    second = store.add_verdict(Verdict(run_id=run_id, verdict="pass", created_at=WHEN))

    assert store.verdicts(run_id) == [second, first]
    assert msgspec.structs.replace(first, id=None) == given
    assert store.verdicts(limit=1) == [second]
    assert store.verdicts("another") == []
    with pytest.raises(StoreError, match="does not contain this run"):
        store.add_verdict(Verdict(run_id="nowhere", verdict="pass", created_at=WHEN))


def test_a_deleted_run_takes_its_verdicts_with_it(store: Store, run_id: str) -> None:
    store.add_verdict(Verdict(run_id=run_id, verdict="pass", created_at=WHEN))

    store.delete_run(run_id)

    assert store.verdicts() == []


def test_requests_are_taken_in_order_and_say_what_became_of_them(store: Store) -> None:
    first = store.enqueue({"dataset": "tea.jsonl", "samples": 2**60}, requested_at="1")
    second = store.enqueue({}, requested_at="2")
    taken = store.take_next(started_at="3")
    also = store.take_next(started_at="4")

    assert (taken and taken.id, also and also.id) == (first.id, second.id)
    assert taken == msgspec.structs.replace(first, state="started", started_at="3")
    assert store.take_next(started_at="5") is None
    store.link_request(first.id, "run-1")
    store.finish_request(first.id, ended_at="6")
    store.finish_request(second.id, ended_at="7", error="no such\x00file")
    done, failed = store.queue()
    assert (done.state, done.run_id, done.ended_at, done.error) == ("done", "run-1", "6", None)
    assert (failed.state, failed.run_id, failed.error) == ("failed", None, "no such�file")
    assert store.queue("waiting") == []
    with pytest.raises(StoreError, match="has no request 99"):
        store.finish_request(99, ended_at="8")


def test_two_that_take_at_once_never_take_the_same(
    store: Store, location: Path | str, child: Callable[..., subprocess.Popen[str]]
) -> None:
    made = [store.enqueue({"n": at}, requested_at="1").id for at in range(40)]
    process = child("""
        store = Store.open(location)
        while found := store.take_next(started_at="child"):
            print(found.id)
    """)
    taken: list[int] = []

    def take() -> None:
        other = Store.open(location)
        while found := other.take_next(started_at="here"):
            taken.append(found.id)
        other.close()

    threads = [threading.Thread(target=take) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    out, _ = process.communicate(timeout=60)
    taken += map(int, out.split())

    assert sorted(taken) == made
    assert {each.state for each in store.queue()} == {"started"}
