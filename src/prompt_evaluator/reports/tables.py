"""A comparison as a table: one row per case and metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison import Comparison


def comparison_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Every common case on every metric, the most certain drop first. Each row has the same keys in the same order."""
    names = {"baseline_run": comparison.baseline.name, "candidate_run": comparison.candidate.name}
    if comparison.baseline.run_id and comparison.candidate.run_id:
        names = {"baseline_run": comparison.baseline.run_id, "candidate_run": comparison.candidate.run_id}
    for case in comparison.cases:
        yield {
            "test_case_id": case.test_case_id,
            "metric": case.metric,
            "baseline": case.baseline,
            "candidate": case.candidate,
            "difference": case.candidate - case.baseline,
            "class": case.class_,
            "p_value": case.p_value,
            **names,
        }
