"""Which datasets runs used, and which scores did not pass, from either kind of store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from prompt_evaluator.model import DatasetRef, TestCase
from prompt_evaluator.model.dataset_api import DatasetUse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.store import Store

ONE, TWO = (TestCase(id=name, input=f"{name}?") for name in ("one", "two"))


def add(store: Store, record: Callable[..., RunRecord], run_id: str, cases: Sequence[TestCase], **more: Any) -> None:
    day, digest, path = more.get("day", 1), more.get("hash", "aa"), more.get("path", "/data/tea.jsonl")
    dataset = DatasetRef(path=path, hash=digest, count=len(cases), selected=len(cases))
    store.create_run(record(run_id, started_at=f"2026-01-{day:02}T00:00:00.000Z", dataset=dataset), cases)


def test_datasets_are_listed_with_their_runs_the_most_recently_used_first(
    store: Store, record: Callable[..., RunRecord]
) -> None:
    add(store, record, "run-1", [ONE], day=1)
    add(store, record, "run-2", [ONE], day=3, hash="bb")
    add(store, record, "run-3", [ONE], day=2, path="/data/milk.jsonl")
    add(store, record, "run-4", [ONE], day=4, path=None)
    add(store, record, "run-5", [ONE], day=3, hash="bb")

    assert store.dataset_uses() == [
        DatasetUse("tea", None, 3, "run-5", "2026-01-03T00:00:00.000Z"),
        DatasetUse("milk", None, 1, "run-3", "2026-01-02T00:00:00.000Z"),
    ]
    assert store.dataset_versions("tea") == [
        DatasetUse("tea", "bb", 2, "run-5", "2026-01-03T00:00:00.000Z"),
        DatasetUse("tea", "aa", 1, "run-1", "2026-01-01T00:00:00.000Z"),
    ]
    assert store.dataset_versions("coffee") == []
    assert store.known_runs(["run-1", "run-9"]) == {"run-1"}
