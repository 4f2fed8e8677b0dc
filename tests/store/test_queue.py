"""Which runs wait for a worker, and which are to stop: agreed between processes through the store."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import msgspec
import pytest
from stores import PROGRESS

from prompt_evaluator.errors import RunBusyError, StoreError, UnknownNameError
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunRecord, RunStatus


@pytest.fixture
def queued(store: Store, record: Callable[..., RunRecord]) -> str:
    """A run that waits for a worker."""
    add(store, record("run-q"))
    return "run-q"


def add(store: Store, record: RunRecord, status: RunStatus = "queued") -> None:
    store.create_run(msgspec.structs.replace(record, status=status), [])
    if status == "queued":
        store.enqueue({"run": record.plan.run_id}, requested_at="1", run_id=record.plan.run_id)


def test_requests_are_taken_in_order_and_say_what_became_of_them(store: Store, run_id: str) -> None:
    first = store.enqueue({"dataset": "tea.jsonl", "samples": 2**60}, requested_at="1", run_id=run_id)
    second = store.enqueue({}, requested_at="2")
    taken = store.take_next(started_at="3")
    also = store.take_next(started_at="4")

    assert (taken and taken.id, also and also.id) == (first.id, second.id)
    assert taken == msgspec.structs.replace(first, state="started", started_at="3")
    assert store.take_next(started_at="5") is None
    store.finish_request(first.id, ended_at="6")
    store.finish_request(second.id, ended_at="7", error="no such\x00file")
    done, failed = store.queue()
    assert (done.state, done.run_id, done.ended_at, done.error) == ("done", run_id, "6", None)
    assert (failed.state, failed.run_id, failed.error) == ("failed", None, "no such�file")
    assert store.queue("waiting") == []
    with pytest.raises(StoreError, match="has no request 99"):
        store.finish_request(99, ended_at="8")


def test_the_requests_of_a_group_wait_all_or_none(store: Store, run_id: str) -> None:
    with pytest.raises(StoreError):
        store.enqueue_all({run_id: {}, "nobody": {}}, requested_at="1")

    assert store.queue() == []
    store.enqueue_all({run_id: {"samples": 1}}, requested_at="1")
    assert [(each.run_id, each.state) for each in store.queue()] == [(run_id, "waiting")]


def _ask(store: Store, who: str, count: int) -> list[int]:
    return [store.enqueue({"asked_by": who}, requested_at="1").id for _ in range(count)]


def _take(store: Store, count: int, *, ending: bool) -> list[int]:
    """Take requests one after the other; each ends before the next is taken, or none does."""
    taken = []
    for at in range(count):
        found = store.take_next(started_at=f"{at:03}")
        assert found is not None
        taken.append(found.id)
        if ending:
            store.finish_request(found.id, ended_at=f"{at:03}")
    return taken


@pytest.mark.parametrize("ending", [True, False], ids=["one at a time", "many at once"])
def test_one_person_with_many_runs_does_not_make_others_wait_for_all_of_them(store: Store, *, ending: bool) -> None:
    many, few, one = _ask(store, "anna", 20), _ask(store, "ben", 3), _ask(store, "cleo", 1)

    taken = _take(store, 24, ending=ending)

    assert taken[:7] == [many[0], few[0], one[0], many[1], few[1], many[2], few[2]]
    assert [each for each in taken if each in many] == many


def test_who_has_fewer_runs_in_progress_goes_first(store: Store) -> None:
    of_anna = _ask(store, "anna", 3)
    assert _take(store, 2, ending=False) == of_anna[:2]
    of_ben = _ask(store, "ben", 3)

    assert _take(store, 4, ending=False) == [of_ben[0], of_ben[1], of_anna[2], of_ben[2]]


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

    threads = [threading.Thread(target=take, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    out, _ = process.communicate(timeout=60)
    taken += map(int, out.split())

    assert sorted(taken) == made
    assert {each.state for each in store.queue()} == {"started"}


def test_a_stop_requested_elsewhere_is_told_with_every_report_of_progress(
    store: Store, location: Path | str, run_id: str
) -> None:
    before = store.save_progress(run_id, PROGRESS, None)
    other = Store.open(location)
    requested = other.request_stop(run_id, "cancelled\x00 by anna")
    other.close()

    assert before is None
    assert requested
    assert store.save_progress(run_id, PROGRESS, None) == "cancelled� by anna"
    assert store.run_line(run_id).progress == PROGRESS


def test_a_resumed_run_knows_nothing_of_an_earlier_request_to_stop(store: Store, run_id: str) -> None:
    store.request_stop(run_id, "cancelled")
    store.update_run(run_id, status="aborted", stop_reason="cancelled")

    store.start_run(run_id, "2026-01-31T12:00:00Z")

    assert store.save_progress(run_id, PROGRESS, None) is None


@pytest.mark.parametrize("status", ["completed", "partial", "failed", "aborted"])
def test_a_run_that_has_ended_cannot_be_stopped(store: Store, run_id: str, status: RunStatus) -> None:
    store.update_run(run_id, status=status)

    assert not store.request_stop(run_id, "cancelled")
    assert not store.cancel_queued(run_id, "cancelled", ended_at="2")
    assert store.run(run_id).status == status
    assert not store.request_stop("run-nowhere", "cancelled")


def test_a_run_that_waits_is_cancelled_before_any_worker_takes_it(store: Store, queued: str) -> None:
    assert store.cancel_queued(queued, "cancelled by anna", ended_at="2")

    found = store.run(queued)
    assert (found.status, found.stop_reason) == ("aborted", "cancelled by anna")
    assert [(each.state, each.ended_at) for each in store.queue()] == [("done", "2")]
    assert store.take_next(started_at="3") is None
    assert not store.cancel_queued(queued, "again", ended_at="4")


def test_a_run_that_a_worker_has_just_taken_is_stopped_once_it_has_started(store: Store, queued: str) -> None:
    store.take_next(started_at="2")

    assert not store.cancel_queued(queued, "cancelled", ended_at="3")
    assert store.request_stop(queued, "cancelled")
    store.start_run(queued, "2026-01-31T12:00:00Z")
    assert store.save_progress(queued, PROGRESS, None) == "cancelled"


def test_a_run_is_taken_or_cancelled_but_never_both(
    store: Store, record: Callable[..., RunRecord], child: Callable[..., subprocess.Popen[str]]
) -> None:
    names = [f"run-{at:02}" for at in range(40)]
    for name in names:
        add(store, record(name))
    process = child("""
        store = Store.open(location)
        while found := store.take_next(started_at="2"):
            print(found.run_id, flush=True)
    """)
    assert process.stdout
    first = process.stdout.readline().strip()

    cancelled = {name for name in reversed(names) if store.cancel_queued(name, "cancelled", ended_at="3")}
    taken = {first, *process.stdout.read().split()}

    assert taken | cancelled == set(names)
    assert not taken & cancelled
    assert {name for name in names if store.run(name).status == "aborted"} == cancelled


def test_a_run_that_is_started_elsewhere_no_longer_waits(store: Store, queued: str) -> None:
    store.start_run(queued, "2026-01-31T12:00:00Z")

    assert store.take_next(started_at="2") is None


def test_a_run_that_stopped_waits_again_at_the_end(store: Store, run_id: str, record: Callable[..., RunRecord]) -> None:
    add(store, record("run-b"))
    store.request_stop(run_id, "cancelled")
    store.update_run(run_id, status="aborted", stop_reason="cancelled")

    made = store.requeue(run_id, {"retry_errors": True}, requested_at="5")

    assert (made.state, made.run_id, made.request, made.requested_at) == (
        "waiting",
        run_id,
        {"retry_errors": True},
        "5",
    )
    assert (store.run(run_id).status, store.run(run_id).stop_reason) == ("queued", None)
    assert [each.run_id for each in store.queue("waiting")] == ["run-b", run_id]
    store.start_run(run_id, "2026-01-31T12:00:00Z")
    assert store.save_progress(run_id, PROGRESS, None) is None


def test_a_run_that_already_waits_keeps_its_place(store: Store, queued: str, record: Callable[..., RunRecord]) -> None:
    add(store, record("run-z"))

    again = store.requeue(queued, {"again": True}, requested_at="9")

    assert (again.request, again.requested_at) == ({"run": queued}, "1")
    assert [each.run_id for each in store.queue()] == [queued, "run-z"]


def test_a_run_whose_worker_was_killed_waits_again(store: Store, queued: str) -> None:
    store.take_next(started_at="2")
    store.start_run(queued, "2026-01-31T12:00:00Z")

    store.requeue(queued, {}, requested_at="3")

    assert [each.state for each in store.queue()] == ["done", "waiting"]
    assert store.run(queued).status == "queued"


def test_a_run_that_a_process_works_on_does_not_wait_again(store: Store, run_id: str) -> None:
    with store.own(run_id), pytest.raises(RunBusyError):
        store.requeue(run_id, {}, requested_at="1")

    assert store.run(run_id).status == "running"
    assert store.queue() == []
    with pytest.raises(UnknownNameError):
        store.requeue("run-nowhere", {}, requested_at="1")


def test_a_request_is_lost_when_neither_its_worker_nor_an_owner_of_its_run_is_there(store: Store, queued: str) -> None:
    with store.own("worker-a"):
        taken = store.take_next(started_at="2", worker="worker-a")
        assert taken is not None
        assert store.lost_requests("worker-b", ()) == [], "it has just been taken, and its run has no owner yet"
        assert store.lost_requests("worker-a", {taken.id}) == []
        assert store.lost_requests("worker-a", ()) == [taken], "a worker knows best what it works on"
    with store.own(queued):
        assert store.lost_requests("worker-b", ()) == [], "such as a worker that lost its name, but not its run"

    assert store.lost_requests("worker-b", ()) == [taken]


def test_a_worker_leaves_a_request_to_others_while_it_has_not_ended_with_it_itself(store: Store, queued: str) -> None:
    taken = store.take_next(started_at="2", worker="worker-a")
    assert taken is not None
    assert store.recover_request(taken, again=True, ended_at="3"), "by another worker"

    assert store.take_next(started_at="4", worker="worker-c", busy={taken.id}) is None
    again = store.take_next(started_at="4", worker="worker-b", busy={taken.id + 1})

    assert again is not None
    assert (again.id, again.run_id) == (taken.id, queued)


def test_a_worker_that_wakes_up_late_does_not_end_a_request_that_another_has_taken(store: Store, queued: str) -> None:
    taken = store.take_next(started_at="2", worker="worker-a")
    assert taken is not None
    assert taken.worker == "worker-a"
    assert store.recover_request(taken, again=True, ended_at="3")
    assert not store.recover_request(taken, again=True, ended_at="3")
    again = store.take_next(started_at="4", worker="worker-b")
    assert again is not None
    assert again.run_id == queued
    assert not store.recover_request(taken, again=True, ended_at="4"), "by a third that saw it before"

    store.finish_request(taken.id, ended_at="5", worker="worker-a")
    (open_still,) = store.queue()
    store.finish_request(taken.id, ended_at="6", worker="worker-b")
    (ended,) = store.queue()

    assert (open_still.state, open_still.worker) == ("started", "worker-b")
    assert (ended.state, ended.ended_at) == ("done", "6")
