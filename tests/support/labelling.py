"""A stored run whose answers can be labelled, and files of labels about it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import plan_of

from prompt_evaluator.app.labels import import_labels
from prompt_evaluator.errors import InputError
from prompt_evaluator.model import (
    Answer,
    CallFailure,
    Criterion,
    DatasetRef,
    Flag,
    Generation,
    Label,
    MetricUse,
    Rubric,
    RunRecord,
    TestCase,
    Unit,
)
from prompt_evaluator.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings

RUN = "2d65dcae-82e4-49ff-b622-9fbf017fabc3"
RUBRIC = Rubric(
    name="support",
    hash="ab" * 32,
    metrics=(Criterion(name="correct", description="Is it right?", min_score=1, max_score=5),),
    flags=(Flag(name="leaks_data", description="Does it leak?"),),
)
CASES = [
    TestCase(id="refund", input="May I?"),
    TestCase(id="-late", input="Where?", checks=(MetricUse(metric="length", options={"max_words": 9}),)),
    TestCase(id="unanswered", input="Why?"),
]
WHEN = "2026-01-31T12:00:00.000Z"
LINE = {
    "run_id": RUN,
    "test_case_id": "refund",
    "sample_id": "refund-sample-1",
    "metric": "correct",
    "value": 4,
    "reviewer": "anna",
}


def answer(case_id: str, sample: int, attempt: int = 0) -> str:
    return f"Answer {sample}.{attempt} to {case_id} ☕"


def answer_hash(case_id: str, sample: int, attempt: int = 0) -> str:
    return hashlib.sha256(answer(case_id, sample, attempt).encode()).hexdigest()


def unit(case_id: str, sample: int, attempt: int = 0) -> Unit:
    failure = CallFailure(kind="TimedOutError", message="late") if case_id == "unanswered" else None
    said = None if failure else Answer(text=answer(case_id, sample, attempt), model="m", latency_ms=1.0)
    data = msgspec.json.encode(Generation(answer=said, failure=failure, started_at=WHEN, ended_at=WHEN))
    name = f"{case_id} {sample} {attempt}".encode()
    return Unit(
        case_id=case_id, name=name, kind="generation", sample=sample, attempt=attempt, ok=not failure, data=data
    )


def add_run(store: Store, run_id: str = RUN) -> None:
    """Three cases with two samples each; the second sample of the first case was asked for twice."""
    dataset = DatasetRef(path=None, hash="0", count=3, selected=3)
    plan = plan_of(run_id, 3, dataset=dataset, rubric=RUBRIC, metrics=(MetricUse(metric="similarity"),))
    store.create_run(RunRecord(plan=plan, status="completed", started_at=WHEN), CASES)
    writer = store.writer(run_id)
    for case in CASES:
        for sample in (0, 1):
            writer.put(unit(case.id, sample))
    writer.put(unit("refund", 1, attempt=1))
    writer.close()


def stored(settings: Settings) -> list[Label]:
    store = Store.open(settings.store)
    try:
        return store.labels()
    finally:
        store.close()


def jsonl(here: Path, *lines: dict[str, Any], name: str = "labels.jsonl") -> Path:
    path = here / name
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def refused(settings: Settings, path: Path, **how: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        import_labels(settings, path, **how)
    assert stored(settings) == []
    return caught.value
