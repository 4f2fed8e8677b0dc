"""Results of cases and runs as the pipeline makes them, with as much in them as a test wants."""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

from prompt_evaluator.model import CallFailure, DatasetRef, RunPlan, Target, ToolCall
from prompt_evaluator.model.result import (
    AttemptResult,
    CaseResult,
    CriterionScore,
    FlagStats,
    MetricScore,
    MetricStats,
    OverallMetric,
    RunResult,
    RunTotals,
    SampleResult,
)

WHEN = "2026-01-31T12:00:00.000Z"
JUDGES = {"clarity": "mock/judge"}


def plan_of(run_id: str, cases: int, **given: Any) -> RunPlan:
    """What was planned for a run that never was."""
    values: dict[str, Any] = {
        "group_id": run_id,
        "dataset": DatasetRef(path="/data/support.jsonl", hash="d1" * 32, count=cases, selected=cases),
        "target": Target(model="openai/small", identity="https://example.test"),
        "rubric": None,
        "judge": None,
        "num_samples": 2,
        "output_dir": "/nowhere",
    }
    return RunPlan(run_id=run_id, **{**values, **given})


def sample(case_id: str = "case-0", number: int = 0, **given: Any) -> SampleResult:
    """An answer that a rubric gave 4 for clarity, with one flag, and that a rule found 12 characters long."""
    values: dict[str, Any] = {
        "sample_id": f"{case_id}-sample-{number + 1}",
        "input_text": "Why?",
        "generator_output": f"Answer {number} to {case_id}",
        "status": "completed",
        "task_description": None,
        "judge_metrics": {"clarity": CriterionScore(4.0, "clear enough", passed=True)},
        "judge_flags": {"rude": False},
        "judge_overall_comment": "fine",
        "judge_raw_response": "{}",
        "judge_repeats": None,
        "scores": {
            "length": MetricScore(status="scored", score=1.0, passed=True, reason="12 characters", details={"n": 12})
        },
        "attempt": 1,
        "earlier_attempts": (AttemptResult(attempt=0, generator_output="bad", failed_checks=("length",), error=None),),
        "tool_calls": (ToolCall(name="look_up", arguments={"what": "tea"}, id="1"),),
        "finish_reason": "stop",
        "model": "mock-1",
        "input_tokens": 10,
        "output_tokens": 5,
        "cost": 0.25,
        "latency_ms": 100.0 * (number + 1),
        "tries": 1,
        "judge_input_tokens": 20,
        "judge_output_tokens": 6,
        "judge_cost": 0.5,
        "unpriced_calls": 0,
        "synthetic": False,
        "reused": False,
        "reused_cost": None,
        "error": None,
        "error_metric": None,
    }
    return SampleResult(**{**values, **given})


def failed_sample(case_id: str = "case-0", number: int = 0, kind: str = "TimedOutError") -> SampleResult:
    return sample(
        case_id,
        number,
        generator_output=None,
        status="generation_error",
        judge_metrics={},
        judge_flags={},
        scores={},
        tool_calls=(),
        cost=None,
        judge_cost=None,
        latency_ms=None,
        error=CallFailure(kind=kind, message=f"{kind} happened"),
    )


def stats(*scores: float, pass_at: float = 4.0) -> MetricStats:
    passed = sum(score >= pass_at for score in scores)
    return MetricStats(
        mean=fmean(scores),
        std=stdev(scores) if len(scores) > 1 else None,
        min=min(scores),
        max=max(scores),
        count=len(scores),
        interval=None,
        variability="LOW",
        wide_range=False,
        repeat_std=None,
        passed=passed,
        pass_rate=passed / len(scores),
        pass_interval=(0.0, 1.0),
    )


def flag(raised: int, asked: int = 2) -> FlagStats:
    share = raised / asked if asked else None
    return FlagStats(true_count=raised, false_count=asked - raised, total_count=asked, true_proportion=share)


def case_result(case_id: str = "case-0", **given: Any) -> CaseResult:
    """Two samples, completed, that pass."""
    values: dict[str, Any] = {
        "test_case_id": case_id,
        "test_case_input": "Why?",
        "test_case_metadata": {},
        "test_case_description": None,
        "test_case_task": None,
        "test_case_expected_constraints": None,
        "test_case_reference": None,
        "test_case_references": (),
        "test_case_file": None,
        "test_case_line": None,
        "messages": (),
        "num_samples": 2,
        "samples": (sample(case_id, 0), sample(case_id, 1)),
        "per_metric_stats": {"clarity": stats(4.0, 4.0), "length": stats(1.0, 1.0, pass_at=1.0)},
        "missing_scores": {},
        "per_flag_stats": {"rude": flag(0)},
        "status": "completed",
        "timestamp_start": WHEN,
        "timestamp_end": WHEN,
        "error_message": None,
    }
    return CaseResult(**{**values, **given})


def run_result(run_id: str = "run-0001", *, mean: float = 4.0, **totals: Any) -> RunResult:
    counted: dict[str, Any] = {
        "cases": {"completed": 10},
        "samples": {"completed": 20},
        "errors": {},
        "failures": (),
        "error_share": 0.0,
        "input_tokens": 2**40,
        "output_tokens": 7,
        "cost": 1.5,
        "unpriced_calls": 0,
        "reused_units": 0,
        "skipped": {},
    }
    overall = OverallMetric(
        mean_of_means=mean,
        min_of_means=1.0,
        max_of_means=5.0,
        num_cases=10,
        interval=(3.0, 5.0),
        bounds=None,
        std=0.5,
        repeat_std=None,
        variability="LOW",
        high_variability_cases=0,
        fail_under=None,
        below=False,
        near=False,
        scale=(1.0, 5.0),
        pass_rate=0.5,
        pass_interval=None,
        flaky_cases=0,
        skipped=0,
        failed=0,
        reduced={},
    )
    return RunResult(
        run_id=run_id,
        status="completed",
        overall_metric_stats={"clarity": overall},
        overall_flag_stats={},
        missed_bars=(),
        totals=RunTotals(**{**counted, **totals}),
        worst=(),
        flakiest=(),
    )
