"""Runs, cases and samples as JSON objects, from result rows; keys are named as in the artifacts if they occur there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from prompt_evaluator.app.run_cases import CaseList, CaseView, WholeCase
    from prompt_evaluator.model import RunPlan, TestCase
    from prompt_evaluator.model.leaderboard import Leaderboard
    from prompt_evaluator.model.query import CaseFlag, CaseMetric, Page, RunLine, SampleLine, ScoreLine

_CALLED = {
    "started_at": "timestamp_start",
    "ended_at": "timestamp_end",
    "prompt_version": "prompt_version_id",
    "note": "run_notes",
    "cases": "dataset_selected",
    "num_samples": "num_samples_per_case",
}
_HASHES = ("dataset_hash", "prompt_hash", "rubric_hash", "judge_hash")
_SAME_IN_SAMPLES = (
    *("attempt", "earlier_attempts", "tool_calls", "finish_reason", "model", "input_tokens", "output_tokens", "cost"),
    *("latency_ms", "tries", "judge_input_tokens", "judge_output_tokens", "judge_cost", "reused", "error_metric"),
)


def runs_document(page: Page[RunLine]) -> dict[str, Any]:
    """A page of runs, and the cursor of the next page."""
    return {"runs": [run_line_document(line) for line in page.items], "next": page.next}


def run_line_document(line: RunLine) -> dict[str, Any]:
    """A run as listed, with its statistics."""
    values = {name: value for name, value in _with_hashes(line).items() if name not in ("summary", "progress")}
    summary = line.summary
    return {
        **{_CALLED.get(name, name): value for name, value in values.items()},
        "overall_metric_stats": summary.overall_metric_stats if summary else {},
        "overall_flag_stats": summary.overall_flag_stats if summary else {},
        "totals": summary.totals if summary else None,
        "not_measured": summary.not_measured if summary else {},
        "missed_bars": summary.missed_bars if summary else [],
        "progress": line.progress,
    }


def leaderboard_document(found: Leaderboard) -> dict[str, Any]:
    """A leaderboard, with hashes as in the artifacts."""
    return {
        "boards": [
            _with_hashes(board, **{part: [*map(_with_hashes, getattr(board, part))] for part in ("runs", "left_out")})
            for board in found.boards
        ],
        "looked_at": found.looked_at,
        "more_runs": found.more_runs,
    }


def cases_document(found: CaseList) -> dict[str, Any]:
    """A page of cases, the number of cases on all pages, and the cursor of the next page."""
    plan = found.record.plan
    return {
        "run_id": plan.run_id,
        "sorted_by_metric": found.metric,
        "matching_cases": found.matching,
        "test_case_results": [case_document(view, plan) for view in found.cases],
        "next": found.next,
    }


def whole_case_document(found: WholeCase) -> dict[str, Any]:
    """One case with what is expected of its answer, and all its samples."""
    plan = found.record.plan
    return {"run_id": plan.run_id, **_expected(found.case), **case_document(found.view, plan)}


def case_document(view: CaseView, plan: RunPlan) -> dict[str, Any]:
    """A case as listed, with its samples if they were requested."""
    line = view.line
    samples = None if view.samples is None else [_sample(each, line.case_id, plan) for each in view.samples]
    return {
        "test_case_id": line.case_id,
        "test_case_input": line.input,
        "test_case_metadata": line.metadata,
        "test_case_file": line.file,
        "test_case_line": line.line,
        "status": line.status,
        "per_metric_stats": {name: _stats(each) for name, each in line.metrics.items() if each.mean is not None},
        "missing_scores": {name: each.missing for name, each in line.metrics.items() if each.missing},
        "per_flag_stats": {name: _flag(each) for name, each in line.flags.items()},
        "failing": line.failing,
        "flaky": line.flaky,
        "flakiness": line.flakiness,
        "flagged": line.flagged,
        "error_kinds": line.error_kinds,
        "error_message": line.error_message,
        "cost": line.cost,
        "latency_ms": line.latency_ms,
        "timestamp_start": line.started_at,
        "timestamp_end": line.ended_at,
        **({} if samples is None else {"samples": samples}),
    }


def _expected(case: TestCase) -> dict[str, Any]:
    return {
        "test_case_description": case.description,
        "test_case_task": case.task,
        "test_case_expected_constraints": case.expected_constraints,
        "test_case_reference": case.reference,
        "test_case_references": case.references,
        "checks": case.checks,
        "messages": case.messages,
    }


def _stats(stats: CaseMetric) -> dict[str, Any]:
    values = msgspec.structs.asdict(stats)
    passed, _ = values.pop("passes"), values.pop("missing")
    return {**values, "passed": passed, "pass_rate": passed / stats.count}


def _flag(flag: CaseFlag) -> dict[str, Any]:
    return {
        "true_count": flag.raised,
        "false_count": flag.asked - flag.raised,
        "total_count": flag.asked,
        "true_proportion": flag.raised / flag.asked if flag.asked else None,
    }


def _sample(sample: SampleLine, case_id: str, plan: RunPlan) -> dict[str, Any]:
    criteria = {criterion.name for criterion in plan.rubric.metrics} if plan.rubric else set()
    error = {"kind": sample.error_kind, "message": sample.error_message} if sample.error_kind else None
    scores = sample.scores.items()
    return {
        "sample_id": f"{case_id}-sample-{sample.sample + 1}",
        "generator_output": sample.answer,
        "answer_hash": sample.answer_hash,
        "status": sample.status,
        "judge_metrics": {name: _criterion(each) for name, each in scores if name in criteria},
        "judge_flags": sample.flags,
        "judge_overall_comment": sample.comment,
        "scores": {name: _score(each) for name, each in scores if name not in criteria},
        **{name: getattr(sample, name) for name in _SAME_IN_SAMPLES},
        "error": error,
    }


def _criterion(score: ScoreLine) -> dict[str, Any]:
    repeats = {"repeats": score.repeats} if score.repeats else {}
    return {"score": score.value, "rationale": score.reason, "passed": score.passed, "judge": score.judge, **repeats}


def _score(score: ScoreLine) -> dict[str, Any]:
    return {
        "status": score.outcome,
        "score": score.value,
        "passed": score.passed,
        "reason": score.reason,
        "details": score.details,
        "repeats": score.repeats or None,
        "judge": score.judge,
    }


def _with_hashes(found: msgspec.Struct, **replaced: Any) -> dict[str, Any]:
    """The fields, hashes as in the artifacts."""
    values = {**msgspec.structs.asdict(found), **replaced}
    for name in _HASHES:
        if values.get(name):
            values[name] = f"sha256:{values[name]}"
    return values
