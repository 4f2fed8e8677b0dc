"""Stored runs with scores, flags and metadata, for charts."""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from case_results import case_result, flag, run_result, sample, stats

from prompt_evaluator.model import DatasetRef, RunPlan, RunRecord, Target, TestCase
from prompt_evaluator.model.result import CriterionScore, OverallFlag
from prompt_evaluator.model.rubric import Criterion, Rubric
from prompt_evaluator.stats import case_mean_interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.store import Store

RUBRIC = Rubric(
    name="house",
    metrics=(
        Criterion(name="clarity", description="Is it clear?", guidelines="5: yes\n1: no"),
        Criterion(name="warmth", description="Is it warm?", guidelines="5: yes\n1: no"),
    ),
    flags=(),
    hash="ab" * 32,
)


class Case(NamedTuple):
    """Scores of one case, one for each sample, by metric."""

    scores: Mapping[str, Sequence[float]]
    metadata: Mapping[str, Any] = {}
    raised: int = 0


def run_id(number: int) -> str:
    return f"{number:08x}-0000-4000-8000-000000000000"


def add_scored_run(
    store: Store, number: int, cases: Sequence[Case], *, cost: float | None = 1.5, model: str = "openai/small"
) -> str:
    """A finished run with the flag `rude`."""
    samples = max(len(scores) for case in cases for scores in case.scores.values())
    plan = RunPlan(
        run_id=run_id(number),
        group_id="group",
        dataset=DatasetRef(path="/data/support.jsonl", hash="d1" * 32, count=len(cases), selected=len(cases)),
        target=Target(model=model, identity="https://example.test"),
        rubric=RUBRIC,
        judge=None,
        num_samples=samples,
        output_dir="/nowhere",
    )
    day = f"2026-01-{number:02}T09:30:00.000Z"
    ids = [f"case-{at}" for at in range(len(cases))]
    written = [
        TestCase(id=name, input="Why?", metadata=dict(case.metadata)) for name, case in zip(ids, cases, strict=True)
    ]
    store.create_run(RunRecord(plan=plan, status="running", started_at=day), written)
    writer = store.writer(plan.run_id)
    for at, case in enumerate(cases):
        writer.put_case(at, _result(ids[at], case, samples), {})
    writer.close()
    store.update_run(plan.run_id, status="completed", ended_at=day, summary=_summary(plan.run_id, cases, cost))
    return plan.run_id


def _result(case_id: str, case: Case, samples: int) -> Any:
    answers = tuple(
        sample(
            case_id,
            at,
            judge_metrics={
                name: CriterionScore(scores[at], "so", passed=True)
                for name, scores in case.scores.items()
                if at < len(scores)
            },
            scores={},
            judge_flags={"rude": at < case.raised},
        )
        for at in range(samples)
    )
    return case_result(
        case_id,
        num_samples=samples,
        samples=answers,
        per_metric_stats={name: stats(*scores) for name, scores in case.scores.items() if scores},
        per_flag_stats={"rude": flag(case.raised, samples)},
    )


def _summary(name: str, cases: Sequence[Case], cost: float | None) -> Any:
    result = run_result(name, cost=cost, samples={"completed": len(cases) * 2})
    overall = {}
    for metric in dict.fromkeys(metric for case in cases for metric in case.scores):
        means = [fmean(case.scores[metric]) for case in cases if case.scores.get(metric)]
        interval = case_mean_interval(means, (1.0, 5.0))
        overall[metric] = msgspec.structs.replace(
            result.overall_metric_stats["clarity"],
            mean_of_means=fmean(means),
            num_cases=len(means),
            interval=tuple(interval) if interval else None,
        )
    raised, asked = sum(case.raised for case in cases), len(cases) * 2
    rude = OverallFlag(
        true_count=raised,
        false_count=asked - raised,
        total_count=asked,
        true_proportion=raised / asked,
        interval=(0.0, 0.5),
        band=None,
    )
    return msgspec.structs.replace(result, overall_metric_stats=overall, overall_flag_stats={"rude": rude})
