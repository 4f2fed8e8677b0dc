"""Baselines and verdicts: kept in order, and found again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from prompt_evaluator.errors import StoreError, UnknownNameError
from prompt_evaluator.model.release import Baseline, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.store import Store

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


def test_verdicts_are_added_and_the_newest_counts(store: Store, run_id: str) -> None:
    given = Verdict(
        run_id=run_id, baseline_run_id="run-0", verdict="fail", created_at=WHEN, policy={"margin": 0.1}, reasons=("☕",)
    )
    first = store.add_verdict(given)
    second = store.add_verdict(Verdict(run_id=run_id, verdict="pass", created_at=WHEN))

    assert store.latest_verdicts([run_id, "another"]) == {run_id: second}
    assert msgspec.structs.replace(first, id=None) == given
    with pytest.raises(StoreError, match="does not contain this run"):
        store.add_verdict(Verdict(run_id="nowhere", verdict="pass", created_at=WHEN))
