"""The verdict of the harness's gate as JUnit XML: a test case for each metric of each configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.reports.junit import Problem, Suite, TestResult, write_junit

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from prompt_evaluator.model.harness_gate import GateOutcome, Movement

_SUITE = "evals gate"


def write_gate(file: BinaryIO, outcome: GateOutcome) -> None:
    """Write one suite. A regression is a failure; runs that cannot be compared are an error."""
    facts = {
        "verdict": outcome.verdict,
        "run": outcome.run_id,
        "baseline": outcome.baseline_run_id,
    }
    properties = {name: value for name, value in facts.items() if value is not None}
    write_junit(file, Suite(name=_SUITE, started_at=outcome.timestamp, properties=properties), _results(outcome))


def _results(outcome: GateOutcome) -> Iterator[TestResult]:
    for moved in outcome.movements:
        problem = Problem(kind="failure", message=_change(moved), type="regression") if moved.exceeded else None
        yield TestResult(classname=moved.config_id, name=moved.metric, problem=problem)
    if outcome.verdict == "refused":
        for reason in outcome.reasons:
            yield TestResult(
                classname=_SUITE, name="comparable", problem=Problem(kind="error", message=reason, type="refused")
            )
    if outcome.verdict == "skipped":
        yield TestResult(classname=_SUITE, name="baseline", problem=Problem(kind="skipped", message=outcome.reasons[0]))


def _change(moved: Movement) -> str:
    return f"{moved.baseline:g} → {moved.candidate:g}, more than the limit of {moved.limit:g}"
