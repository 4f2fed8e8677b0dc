"""Results of runs that never were, for looking at how they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from prompt_evaluator.model import (
    CommandLine,
    Criterion,
    DatasetRef,
    Flag,
    JudgeConfig,
    PromptRef,
    Rubric,
    RunPlan,
    RunRecord,
    Target,
)
from prompt_evaluator.model.outcome import Outcome
from prompt_evaluator.model.result import OverallFlag, OverallMetric, RunResult, RunTotals, WorstCase
from prompt_evaluator.stats import flag_band, variability

if TYPE_CHECKING:
    from pathlib import Path

RUN_ID = "0b6f3a52-9d0e-4c1a-8f4e-2a7c5d1e9b30"
RUBRIC = Rubric(
    name="default",
    metrics=(Criterion(name="accuracy", description="Is it right?"), Criterion(name="clarity", description="Is it?")),
    flags=(Flag(name="invented_facts", description="Any?"),),
    hash="0" * 64,
)


MODELS = (("--generator-model", "openai/gpt-4o"), ("--judge-model", "anthropic/claude-sonnet-4-0"))


def typed(folder: Path, *options: tuple[str, ...], name: tuple[str, ...] = ("evaluate-dataset",)) -> CommandLine:
    return CommandLine(name=name, options=options, folder=str(folder))


def plan(folder: Path, **changes: Any) -> RunPlan:
    found = RunPlan(
        run_id=RUN_ID,
        group_id=RUN_ID,
        dataset=DatasetRef(path=str(folder / "data.yaml"), hash="0" * 64, count=50, selected=50),
        target=Target(
            model="openai/gpt-4o",
            identity="openai|https://api.openai.com/v1",
            temperature=0.7,
            prompt=PromptRef(path=str(folder / "prompt.txt"), hash="0" * 64, text="Answer."),
        ),
        rubric=RUBRIC,
        judge=JudgeConfig(
            model="anthropic/claude-sonnet-4-0", identity="anthropic|https://api.anthropic.com", temperature=0.0
        ),
        num_samples=5,
        output_dir=str(folder / "runs"),
        command=typed(folder, ("--dataset", "data.yaml"), ("--system-prompt", "prompt.txt"), *MODELS),
    )
    return msgspec.structs.replace(found, **changes)


def of(plan: RunPlan, cases: int, **changes: Any) -> RunPlan:
    """The plan for so many cases."""
    dataset = msgspec.structs.replace(plan.dataset, count=cases, selected=cases)
    return msgspec.structs.replace(plan, dataset=dataset, **changes)


def metric(mean: float, std: float | None = 0.3, **changes: Any) -> OverallMetric:
    scale = changes.pop("scale", (1.0, 5.0))
    tenth = (scale[1] - scale[0]) / 20
    found = OverallMetric(
        mean_of_means=mean,
        min_of_means=max(scale[0], mean - 5 * tenth),
        max_of_means=min(scale[1], mean + 3 * tenth),
        num_cases=50,
        interval=(max(scale[0], mean - tenth), min(scale[1], mean + tenth)),
        bounds=None,
        std=std,
        repeat_std=None,
        variability=variability(mean, std, scale),
        high_variability_cases=0,
        fail_under=None,
        below=False,
        near=False,
        scale=scale,
        pass_rate=None,
        pass_interval=None,
        flaky_cases=0,
        skipped=0,
        failed=0,
        reduced={},
    )
    return msgspec.structs.replace(found, **changes)


def flag(raised: int, asked: int, interval: tuple[float, float] | None = None) -> OverallFlag:
    share = raised / asked if asked else None
    return OverallFlag(
        true_count=raised,
        false_count=asked - raised,
        total_count=asked,
        true_proportion=share,
        interval=interval,
        band=None if share is None else flag_band(share),
    )


def worst(case_id: str, name: str, mean: float, std: float | None = None) -> WorstCase:
    return WorstCase(test_case_id=case_id, metric=name, mean=mean, std=std)


def totals(completed: int, **changes: Any) -> RunTotals:
    found = RunTotals(
        cases={"completed": 50},
        samples={"completed": completed},
        errors={},
        failures=(),
        error_share=0.0,
        input_tokens=187_500,
        output_tokens=61_234,
        cost=1.0823,
        unpriced_calls=0,
        reused_units=0,
        skipped={},
    )
    return msgspec.structs.replace(found, **changes)


def outcome(
    plan: RunPlan,
    metrics: dict[str, OverallMetric],
    flags: dict[str, OverallFlag] | None = None,
    *,
    status: Any = "completed",
    stop_reason: str | None = None,
    **changes: Any,
) -> Outcome:
    record = RunRecord(plan=plan, status=status, started_at="2026-01-01T00:00:00.000Z", stop_reason=stop_reason)
    found = RunResult(
        run_id=plan.run_id,
        status=status,
        overall_metric_stats=metrics,
        overall_flag_stats=flags or {},
        missed_bars=(),
        totals=totals(250),
        worst=(),
        flakiest=(),
    )
    return Outcome(record, msgspec.structs.replace(found, **changes))
