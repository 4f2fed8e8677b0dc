"""The gate with fixed limits: exactly the limit passes, more fails, whatever floats make of it."""

from __future__ import annotations

from typing import Any

import pytest
from harness_runs import summary
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.gate.thresholds import movement, movements, sentence
from prompt_evaluator.model.harness_gate import GateLimits, GateMetric

METRICS: tuple[GateMetric, ...] = (
    "task_completion_rate",
    "latency_avg_ms",
    "hallucination_incidents",
    "retries_per_task",
)
METRIC = st.sampled_from(METRICS)
CENTS = st.integers(0, 1_000_000)
"""Hundredths: what people and programs write in files."""


def worse(metric: GateMetric, before: int, by: int, limit: int) -> bool:
    """Whether the gate sees a metric that got worse by so many hundredths as a regression."""
    after = before - by if metric == "task_completion_rate" else before + by
    return movement("a", metric, (before / 100, after / 100), limit / 100).exceeded


@given(METRIC, CENTS, CENTS)
def test_exactly_the_limit_passes(metric: GateMetric, before: int, limit: int) -> None:
    assert not worse(metric, before, by=limit, limit=limit)


@given(METRIC, CENTS, CENTS, st.integers(1, 1_000))
def test_a_hundredth_more_than_the_limit_fails(metric: GateMetric, before: int, limit: int, more: int) -> None:
    assert worse(metric, before, by=limit + more, limit=limit)


@given(METRIC, CENTS, CENTS, CENTS)
def test_getting_better_never_fails(metric: GateMetric, before: int, by: int, limit: int) -> None:
    assert not worse(metric, before, by=-by, limit=limit)


@given(METRIC, st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 1e9), st.floats(0, 1e9))
def test_a_wider_limit_never_fails_what_a_narrower_one_passes(
    metric: GateMetric, before: float, after: float, one: float, other: float
) -> None:
    narrow, wide = (movement("a", metric, (before, after), limit).exceeded for limit in sorted((one, other)))

    assert narrow or not wide


@given(st.integers(1, 3_000), st.data())
def test_rates_of_tasks_that_differ_by_exactly_the_limit_pass(tasks: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, tasks))
    fewer = data.draw(st.integers(0, passed))
    limit = 100 * (passed - fewer) / tasks

    moved = movement("a", "task_completion_rate", (100 * passed / tasks, 100 * fewer / tasks), limit)

    assert not moved.exceeded


@pytest.mark.parametrize(
    ("before", "after", "fails"),
    [(97.3, 95.3, False), (97.3, 95.29, True), (97.0, 95.0, False), (2.0, 0.0, False), (66.6667, 64.6667, False)],
)
def test_a_drop_of_two_points_passes_and_more_fails(before: float, after: float, fails: bool) -> None:  # noqa: FBT001
    assert movement("a", "task_completion_rate", (before, after), 2.0).exceeded is fails


def test_all_four_metrics_are_compared_with_the_documented_limits() -> None:
    found = movements(summary(), summary(), GateLimits())

    assert found is not None
    assert [(each.metric, each.limit) for each in found] == [
        ("task_completion_rate", 2.0),
        ("latency_avg_ms", 400.0),
        ("hallucination_incidents", 0.0),
        ("retries_per_task", 0.5),
    ]
    assert not any(each.exceeded for each in found)


def test_regressions_are_worded_as_documented() -> None:
    worst = summary(task_completion_rate=92.0, latency_avg_ms=1300.0, hallucination_incidents=1, retries_per_task=0.8)

    found = movements(summary(), worst, GateLimits())

    assert found is not None
    assert [sentence(each) for each in found if each.exceeded] == [
        "a: task completion rate dropped by 3.00%",
        "a: latency increased by 500ms",
        "a: hallucination incidents increased by 1",
        "a: retries per task increased by 0.60",
    ]


@pytest.mark.parametrize(
    "nothing",
    [
        {"total_tasks": 0},
        {"task_completion_rate": None},
        {"latency_avg_ms": None},
        {"retries_per_task": None},
    ],
    ids=str,
)
def test_without_a_number_there_is_nothing_to_compare(nothing: dict[str, Any]) -> None:
    assert movements(summary(), summary(**nothing), GateLimits()) is None
    assert movements(summary(**nothing), summary(), GateLimits()) is None
