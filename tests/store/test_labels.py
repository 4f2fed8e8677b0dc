"""What people said about answers is kept as they said it, and never overwritten."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from stores import everything

from prompt_evaluator.errors import StoreError
from prompt_evaluator.model import Label, Secret, current_labels

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.store import Store

    MakeRecord = Callable[..., RunRecord]
    MakeLabel = Callable[..., Label]


def test_a_label_comes_back_as_it_was_given(store: Store, run_id: str, label: MakeLabel) -> None:
    full = label(
        sample=3,
        attempt=2,
        value=0.1 + 0.2,
        comment="Größe ☂\nfalsch",
        rubric_hash="1" * 64,
        probability=1 / 3,
        judge_seen=False,
    )
    bare = label()

    store.add_labels([full, bare])

    assert store.labels(run_id) == [full, bare]


def test_labels_come_in_the_order_in_which_they_were_added(store: Store, record: MakeRecord, label: MakeLabel) -> None:
    for run_id in ("run-a", "run-b"):
        store.create_run(record(run_id), [])
    given = [label("run-b", value=1.0), label("run-a", value=2.0), label("run-b", value=3.0)]

    for one in given:
        store.add_labels([one])

    assert store.labels() == given
    assert store.labels("run-b") == [given[0], given[2]]
    assert store.labels("another") == []


def test_a_change_of_mind_is_one_more_label_and_the_newest_counts(store: Store, run_id: str, label: MakeLabel) -> None:
    first, changed = label(value=2.0), label(value=4.0, created_at="2025-01-02T00:00:00.000Z")
    other = label(value=1.0, reviewer="ben")
    store.add_labels([first, other])

    store.add_labels([changed])

    assert store.labels(run_id) == [first, other, changed]
    assert list(current_labels(store.labels()).values()) == [changed, other]


def test_an_old_label_that_is_added_late_does_not_undo_a_change_of_mind(label: MakeLabel) -> None:
    changed, old = label(value=4.0, created_at="2025-01-02T00:00:00.000Z"), label(value=2.0)

    assert current_labels([changed, old]) == {old.key: changed}


def test_labels_are_added_all_or_none(store: Store, run_id: str, label: MakeLabel) -> None:
    with pytest.raises(StoreError, match=r"it does not contain their run\. Nothing was changed"):
        store.add_labels([label(), label("run-none")])

    assert store.labels() == []
    assert store.run(run_id).plan.run_id == run_id


def test_a_comment_may_have_any_character_and_no_secret(
    store: Store, run_id: str, location: Path | str, label: MakeLabel
) -> None:
    key = Secret("sk-live-very-secret-0816")

    store.add_labels([label(comment=f"it says {key.reveal()}\x00!")])

    assert store.labels(run_id)[0].comment == "it says [secret]�!"
    assert key.reveal().encode() not in everything(location)


def test_the_labels_of_one_case_can_be_read_alone(store: Store, run_id: str, label: MakeLabel) -> None:
    store.add_labels([label(), label(case_id="case-1"), label(value=2.0)])

    assert store.labels(run_id, case_id="case-0") == [label(), label(value=2.0)]
    assert store.labels(run_id, case_id="case-9") == []
