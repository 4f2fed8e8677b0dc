"""A comparison as a table: one row per case and metric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.comparison import Comparison


COMPARISON_COLUMNS = (
    *("test_case_id", "metric", "baseline", "candidate", "difference", "class", "p_value"),
    *("baseline_run", "candidate_run"),
)


def comparison_rows(comparison: Comparison) -> Iterator[dict[str, Any]]:
    """Every common case on every metric, the most certain drop first, with the keys `COMPARISON_COLUMNS`."""
    runs = [each.run_id or each.name for each in (comparison.baseline, comparison.candidate)]
    for case in comparison.cases:
        values = (case.test_case_id, case.metric, case.baseline, case.candidate, case.candidate - case.baseline)
        yield dict(zip(COMPARISON_COLUMNS, (*values, case.class_, case.p_value, *runs), strict=True))
