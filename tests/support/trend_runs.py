"""Stored runs of one dataset over time, with scores as a test wants them."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any

import msgspec
from case_results import case_result, plan_of, run_result, stats

from prompt_evaluator.model import DatasetRef, JudgeConfig, PromptRef, RunRecord, Target, TestCase

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from prompt_evaluator.store import Store

METRIC = "clarity"


def run_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def drawn(rng: Random, level: float, *, cases: int = 20, samples: int = 5, spread: float = 0.5) -> list[list[float]]:
    """Scores around a level; each case has a level of its own, the same in every run."""
    own = [((at * 7919) % 101) / 101 - 0.5 for at in range(cases)]
    return [[level + each + rng.gauss(0, spread) for _ in range(samples)] for each in own]


def add_run(
    store: Store, number: int, scores: Sequence[Sequence[float]], *, status: Any = "completed", **given: Any
) -> str:
    """A finished run, one a day. A case without scores failed.

    Args:
        store: Where to.
        number: Which one; decides the id and the day.
        scores: One sequence for each case.
        status: How it ended.
        given: `prompt`, `version`, `model`, `temperature`, `dataset`, `count`, `filters`, `judge`, `name`,
            `synthetic` or `reused`, the number of units that were reused.
    """
    prompt = str(given.get("prompt", "a"))
    plan = plan_of(
        run_id(number),
        len(scores),
        group_id="group",
        dataset=DatasetRef(
            path=f"/data/{given.get('name', 'support')}.jsonl",
            hash=given.get("dataset", "d1" * 32),
            count=given.get("count", len(scores)),
            selected=len(scores),
        ),
        target=Target(
            model=given.get("model", "openai/small"),
            identity="https://example.test",
            temperature=given.get("temperature"),
            prompt=PromptRef(path=None, hash=prompt * 64, text=prompt, version=given.get("version")),
        ),
        judge=JudgeConfig(model=given.get("judge", "openai/judge"), identity="https://example.test"),
        num_samples=max(map(len, scores)),
        filters=given.get("filters", {}),
        synthetic=given.get("synthetic", False),
    )
    day = f"2026-{1 + number // 28:02}-{1 + number % 28:02}T09:30:00.000Z"
    cases = [TestCase(id=f"case-{at}", input="Why?") for at in range(len(scores))]
    store.create_run(RunRecord(plan=plan, status="running", started_at=day), cases)
    writer = store.writer(plan.run_id)
    for at, each in enumerate(scores):
        measured = {METRIC: stats(*each), "brevity": stats(*(1.0 for _ in each))} if each else {}
        missing = {} if each else {METRIC: 1}
        result = case_result(f"case-{at}", per_metric_stats=measured, missing_scores=missing, per_flag_stats={})
        writer.put_case(at, result, {})
    writer.close()
    store.update_run(
        plan.run_id, status=status, ended_at=day, summary=_summary(plan.run_id, scores, given.get("reused", 0))
    )
    return plan.run_id


def _summary(name: str, scores: Sequence[Sequence[float]], reused: int) -> Any:
    result = run_result(name)
    result = msgspec.structs.replace(result, totals=msgspec.structs.replace(result.totals, reused_units=reused))
    scored = [fmean(each) for each in scores if each]
    overall = msgspec.structs.replace(
        result.overall_metric_stats[METRIC],
        mean_of_means=fmean(scored),
        num_cases=len(scored),
        failed=len(scores) - len(scored),
    )
    other = msgspec.structs.replace(overall, mean_of_means=1.0, scale=(0.0, 1.0))
    return msgspec.structs.replace(result, overall_metric_stats={METRIC: overall, "brevity": other})
