"""The gate with fixed limits: has a metric got worse by more than its limit?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.harness_gate import GateLimits, Movement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.harness import HarnessSummary
    from prompt_evaluator.model.harness_gate import GateMetric

_ROUNDING = 1e-9
"""Relative to the numbers compared: far more than what is lost in computing them, far less than one task of many."""
_LOWER_IS_WORSE: frozenset[GateMetric] = frozenset({"task_completion_rate"})


def movements(baseline: HarnessSummary, candidate: HarnessSummary, limits: GateLimits) -> list[Movement] | None:
    """Compare two summaries of a configuration; None if one of them lacks a number, because no task was answered."""
    if baseline.total_tasks < 1 or candidate.total_tasks < 1:
        return None
    found = []
    for metric, limit in _limits(limits):
        before, after = getattr(baseline, metric), getattr(candidate, metric)
        if before is None or after is None:
            return None
        found.append(movement(candidate.config_id, metric, (before, after), limit))
    return found


def movement(config_id: str, metric: GateMetric, values: tuple[float, float], limit: float) -> Movement:
    """Compare two values, the baseline's first. Exactly the limit is allowed, also if rounding adds to it."""
    before, after = values
    worse_by = before - after if metric in _LOWER_IS_WORSE else after - before
    slack = _ROUNDING * max(1.0, abs(before), abs(after))
    return Movement(
        config_id=config_id,
        metric=metric,
        baseline=before,
        candidate=after,
        difference=after - before,
        limit=limit,
        exceeded=worse_by - limit > slack,
    )


def sentence(moved: Movement) -> str:
    """The regression as the harness's documentation words it."""
    worse_by = abs(moved.difference)
    match moved.metric:
        case "task_completion_rate":
            text = f"task completion rate dropped by {worse_by:.2f}%"
        case "latency_avg_ms":
            text = f"latency increased by {worse_by:.0f}ms"
        case "hallucination_incidents":
            text = f"hallucination incidents increased by {worse_by:.0f}"
        case "retries_per_task":
            text = f"retries per task increased by {worse_by:.2f}"
    return f"{moved.config_id}: {text}"


def _limits(limits: GateLimits) -> Iterator[tuple[GateMetric, float]]:
    yield "task_completion_rate", limits.completion_drop
    yield "latency_avg_ms", limits.latency_increase_ms
    yield "hallucination_incidents", limits.hallucination_increase
    yield "retries_per_task", limits.retries_increase
