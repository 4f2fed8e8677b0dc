"""A store with two runs whose groups and errors were planted: what pages about them have to show is known."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from case_results import JUDGES, WHEN
from compared_site import RUBRIC, Planned, planned_result, store_of

from prompt_evaluator.model import DatasetRef, RunPlan, RunRecord, Target, TestCase
from prompt_evaluator.pipeline.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.store import Store

BAD = "<img src=x onerror=alert(1)>"
_ENDED = WHEN.replace("12:00", "12:14")


class Sliced(NamedTuple):
    """The ids of the runs."""

    run: str
    """60 cases: `billing` is low on clarity, `rare` has six cases, and eight samples failed for three reasons."""
    other: str
    """29 of the same cases, with some of the same errors."""


def fill(folder: Path) -> Sliced:
    """Write both runs."""
    with closing(store_of(folder)) as store:
        run = _add(store, "aaaaaaaa-0000-4000-8000-000000000000", [_case(at) for at in range(60)])
        other = _add(store, "bbbbbbbb-0000-4000-8000-000000000000", [_case(at) for at in range(30) if at != 5])
    return Sliced(run, other)


def _case(at: int) -> Planned:
    topic = "rare" if at >= 54 else ("billing", "delivery", "account")[at % 3]
    low = 1.0 if topic == "billing" else 4.0
    scores = {"clarity": [low, low + at % 2], "warmth": [4.0, 4.0 + at % 2]}
    messages = _messages(at)
    if at == 5:
        scores = {}
    return Planned(
        scores,
        case_id=f"{topic}-{at:02}",
        metadata={
            "topic": topic,
            "difficulty": ("easy", "hard")[at // 3 % 2],
            "language": ("de", "en")[at // 6 % 2],
            "customer": at,
            "tags": ["refund", "urgent"] if at % 4 else ["refund"],
        },
        errors=len(messages),
        messages=messages,
    )


def _messages(at: int) -> list[str]:
    if at == 5:
        return [f"Quota of project {at}4711 is used up. {BAD}"] * 2
    if at % 10 == 3:
        return [f"No reply to req_8f3ac{at}d17b90e after {at}.5 s, since 2026-01-{at % 28 + 1:02}T10:00:00Z"]
    return []


def _add(store: Store, name: str, cases: Sequence[Planned]) -> str:
    plan = RunPlan(
        run_id=name,
        group_id=name,
        dataset=DatasetRef(path="/data/support.jsonl", hash="0" * 64, count=len(cases), selected=len(cases)),
        target=Target(model="openai/small", identity="https://example.test"),
        rubric=msgspec.structs.replace(RUBRIC, flags=()),
        judge=None,
        num_samples=2,
        output_dir="/nowhere",
    )
    totals = Totals(plan)
    results = [
        (at, msgspec.structs.replace(planned_result(str(case.case_id), case), per_flag_stats={}))
        for at, case in enumerate(cases)
    ]
    for at, result in results:
        totals.add(at, result)
    written = [
        TestCase(id=str(case.case_id), input=f"Question {case.case_id}?", metadata=dict(case.metadata))
        for case in cases
    ]
    store.create_run(RunRecord(plan=plan, status="running", started_at=WHEN), written)
    store.replace_results(name, results, lambda: totals.result("partial"), judges=JUDGES)
    store.update_run(name, status="partial", ended_at=_ENDED)
    return name
