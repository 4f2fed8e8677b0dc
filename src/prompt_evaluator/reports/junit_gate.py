"""A verdict of the gate as test results: a regression is a failure, data that cannot be used is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.reports.gate_rows import guardrail_row, metric_row, slice_row
from prompt_evaluator.reports.junit import Problem, Suite, TestResult

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.gate import GateResult
    from prompt_evaluator.model.gate_findings import GateRow


def gate_suite(found: GateResult, made_at: str) -> Suite:
    return Suite(
        name=f"gate: {found.candidate} compared with {found.baseline}",
        started_at=made_at,
        properties={
            "verdict": found.verdict or "none",
            "exit_code": str(found.exit_code),
            "common_cases": str(found.cases),
            "policy": found.policy.path or "built in",
        },
    )


def gate_results(found: GateResult) -> Iterator[TestResult]:
    """Each metric, guardrail and failing slice; the verdict itself if there is none, or if single cases fail."""
    for name, metric in found.metrics.items():
        yield _result("gate.metrics", metric_row(name, metric), _kind(found, metric.verdict))
    for name, rail in found.guardrails.items():
        kind = "skipped" if rail.verdict == "not_measured" else "failure" if rail.verdict == "fail" else None
        yield _result("gate.guardrails", guardrail_row(name, rail), kind)
    for each in found.slices:
        if each.verdict == "fail":
            yield _result("gate.slices", slice_row(each, found.metrics[each.metric]), "failure")
    for fallen in found.fallen_cases:
        message = f"{fallen.metric} fell from {fallen.baseline:g} to {fallen.candidate:g}, below {fallen.minimum:g}"
        problem = Problem(kind="failure", type="below_minimum", message=message)
        yield TestResult(classname="gate.cases", name=fallen.test_case_id, problem=problem)
    if found.verdict is None:
        text = "\n".join(found.reasons)
        message = found.reasons[0] if found.reasons else "There is no verdict."
        yield TestResult(
            classname="gate",
            name="verdict",
            problem=Problem(kind="error", type="no_usable_data", message=message, text=text),
        )


def _kind(found: GateResult, verdict: str) -> str | None:
    """Inconclusive metrics are skipped, unless that counts as a failure; without usable data, none has a result."""
    if found.verdict is None:
        return "skipped"
    if verdict == "fail":
        return "failure"
    if verdict == "inconclusive":
        return "failure" if found.exit_code == 1 and found.verdict == "inconclusive" else "skipped"
    return None


def _result(classname: str, row: GateRow, kind: str | None) -> TestResult:
    interval = f" ({row.interval})" if row.interval else ""
    numbers = "; ".join(filter(None, (row.levels, f"{row.difference}{interval}", f"margin {row.margin}")))
    message = "; ".join((f"{row.name}: {row.word}", numbers, *row.notes))
    problem = None
    if kind == "failure":
        problem = Problem(kind="failure", type="regression", message=message)
    elif kind == "skipped":
        problem = Problem(kind="skipped", message=message)
    return TestResult(classname=classname, name=row.name, properties={"numbers": numbers}, problem=problem)
