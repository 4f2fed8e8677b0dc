"""Samples to be labelled are kept in order, each for one reviewer at a time, on every machine that shares the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from stores import sql

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model.labelling import Drawn, LabelQueue
from prompt_evaluator.store.label_queues import Turn

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import Label
    from prompt_evaluator.store import Store

    MakeLabel = Callable[..., Label]

NOW, SOON, LATER = "2026-01-31T12:00:00.000Z", "2026-01-31T12:05:00.000Z", "2026-01-31T12:11:00.000Z"


def queue(run_id: str, size: int) -> LabelQueue:
    return LabelQueue(
        id=0,
        run_id=run_id,
        metric="clarity",
        draw="random",
        seed=9_000_000_000_000_000,
        size=size,
        population=50,
        created_at=NOW,
        created_by="anna",
    )


@pytest.fixture
def made(store: Store, run_id: str) -> LabelQueue:
    return store.add_queue(queue(run_id, 4), [Drawn(at, at % 2, 0, 0.08) for at in (7, 3, 9, 3)])


def turn(reviewer: str, now: str = NOW) -> Turn:
    return Turn(reviewer, now, now.replace("12:0", "12:1"))


def reserved(store: Store, made: LabelQueue, reviewer: str, now: str = NOW) -> int | None:
    item = store.reserve_item(made.id, turn(reviewer, now))
    return item.place if item else None


def test_a_queue_comes_back_with_its_samples_in_their_order(store: Store, made: LabelQueue) -> None:
    items = [store.label_item(made.id, place) for place in range(1, 5)]

    assert store.label_queue(made.id) == made
    assert [(each.case_id, each.sample, each.probability) for each in items] == [
        ("case-7", 1, 0.08),
        ("case-3", 1, 0.08),
        ("case-9", 1, 0.08),
        ("case-3", 1, 0.08),
    ]
    for wrong in (lambda: store.label_queue(made.id + 1), lambda: store.label_item(made.id, 5)):
        with pytest.raises(UnknownNameError):
            wrong()


def test_a_reviewer_gets_the_same_sample_until_it_is_done_and_others_get_others(store: Store, made: LabelQueue) -> None:
    found = [reserved(store, made, name) for name in ("anna", "anna", "ben", "anna", "chris")]

    assert found == [1, 1, 2, 1, 3]


def test_a_reservation_that_expires_is_free_for_others(store: Store, made: LabelQueue) -> None:
    assert [reserved(store, made, "anna"), reserved(store, made, "ben", SOON)] == [1, 2]

    assert reserved(store, made, "chris", LATER) == 1
    assert reserved(store, made, "anna", LATER) == 3


def test_a_label_closes_its_sample(store: Store, made: LabelQueue, label: MakeLabel) -> None:
    item = store.reserve_item(made.id, turn("anna"))
    assert item
    store.close_item(item, [label()], turn("anna", SOON))

    (progress,) = store.label_progress(made.run_id)
    assert (progress.labelled, progress.left, progress.reviewers, progress.last_at) == (1, 3, ("anna",), SOON)
    assert store.labels(made.run_id) == [label()]
    assert reserved(store, made, "anna") == 2
    assert [each.place for each in store.labelled_items(made.id, limit=9)] == [1]


def test_a_second_label_of_a_sample_is_kept_and_the_first_reviewer_stays(
    store: Store, made: LabelQueue, label: MakeLabel
) -> None:
    item = store.reserve_item(made.id, turn("anna"))
    assert item
    store.close_item(item, [label()], turn("anna"))
    store.close_item(item, [label(reviewer="ben")], turn("ben"))

    assert [each.reviewer for each in store.labels(made.run_id)] == ["anna", "ben"]
    assert store.label_item(made.id, 1).labelled_by == "anna"


def test_a_skipped_sample_goes_to_others_and_not_to_the_same_person_again(store: Store, made: LabelQueue) -> None:
    item = store.reserve_item(made.id, turn("anna"))
    assert item
    store.skip_item(item, turn("anna"))
    store.skip_item(item, turn("anna", SOON))

    assert [reserved(store, made, "anna"), reserved(store, made, "ben")] == [2, 1]
    assert store.label_progress(made.run_id)[0].skipped == 1


def test_the_last_label_or_skip_can_be_found_and_opened_again(store: Store, made: LabelQueue, label: MakeLabel) -> None:
    first = store.reserve_item(made.id, turn("anna"))
    assert first
    store.close_item(first, [label()], turn("anna"))
    second = store.reserve_item(made.id, turn("anna"))
    assert second
    store.skip_item(second, turn("anna", SOON))

    last = store.last_item(made.id, "anna")
    assert last
    assert last.place == 2
    assert store.last_item(made.id, "ben") is None
    assert store.reopen_item(last, [], turn("anna", SOON)).place == 2
    last = store.last_item(made.id, "anna")
    assert last
    assert last.place == 1
    reopened = store.reopen_item(last, [label(withdrawn=True)], turn("anna", SOON))
    assert (reopened.place, reopened.labelled_by, reopened.reserved_by) == (1, None, "anna")
    assert store.labels(made.run_id)[-1].withdrawn
    assert reserved(store, made, "anna", SOON) == 1


def test_a_deleted_run_takes_its_queues_with_it(store: Store, made: LabelQueue, location: Path | str) -> None:
    item = store.reserve_item(made.id, turn("anna"))
    assert item
    store.skip_item(item, turn("anna"))

    store.delete_run(made.run_id)

    for table in ("label_queues", "label_items", "label_skips"):
        assert sql(location, f"SELECT * FROM {table}") == []


def test_two_processes_never_get_the_same_sample(
    store: Store, run_id: str, child: Callable[..., subprocess.Popen[str]]
) -> None:
    made = store.add_queue(queue(run_id, 60), [Drawn(at % 10, at // 10, 0, 1.0) for at in range(60)])
    program = """
        from prompt_evaluator.model import Label
        from prompt_evaluator.store.label_queues import Turn
        queue_id, name = int(arguments[0]), arguments[1]
        store, turn = Store.open(location), Turn(name, "2026-01-31T12:00:00.000Z", "2026-01-31T12:10:00.000Z")
        print("ready", flush=True)
        sys.stdin.readline()
        while item := store.reserve_item(queue_id, turn):
            print(item.place)
            given = Label(run_id="run-0001", case_id=item.case_id, sample=item.sample, metric="clarity", value=1.0,
                          reviewer=name, created_at=turn.now, answer_hash="0" * 64)
            store.close_item(item, [given], turn)
    """
    processes = [child(program, str(made.id), name) for name in ("anna", "ben")]
    for process in processes:
        assert process.stdout
        process.stdout.readline()
    for process in processes:
        assert process.stdin
        process.stdin.write("go\n")
        process.stdin.flush()

    got = [int(line) for process in processes for line in process.communicate(timeout=60)[0].split()]

    assert sorted(got) == list(range(1, 61))
    assert len(store.labels(run_id)) == 60
