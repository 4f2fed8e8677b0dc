"""Errors of the harness's metrics: honest enough that a change is rarely seen where there is none."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from harness_runs import evaluation, harness_run, summary
from soak import trials

from prompt_evaluator.app.evals.named_runs import HarnessFolder
from prompt_evaluator.app.evals.trend_noise import VALUES, errors_across_runs, task_values
from prompt_evaluator.app.evals.trends import HarnessTrendQuery, harness_trends
from prompt_evaluator.harness.results import add_run
from prompt_evaluator.stats.changes import change_points

if TYPE_CHECKING:
    from pathlib import Path

SERIES = trials(300)
NOTHING: dict[str, Any] = {"task_completion_rate": None, "retries_per_task": None, "latency_avg_ms": None}


def _task_runs(rng: Random, shift: float = 0.0) -> list[dict[str, list[float]]]:
    """Eight runs of 20 tasks with two samples each, of which the last four are shifted."""
    chances = [rng.choice([0.5, 0.8, 0.95, 1.0]) for _ in range(20)]
    return [
        {
            str(task): [100.0 * (rng.random() < chance - (shift if run >= 4 else 0.0)) for _ in range(2)]
            for task, chance in enumerate(chances)
        }
        for run in range(8)
    ]


def _changes(runs: list[dict[str, list[float]]]) -> int:
    errors = errors_across_runs(runs)
    if errors is None:
        return 0
    means = [sum(map(sum, run.values())) / 40 for run in runs]
    return len(change_points(means, errors.values, freedom=errors.freedom))


@pytest.mark.soak
def test_series_without_a_change_rarely_show_one() -> None:
    rng = Random(1)

    found = sum(_changes(_task_runs(rng)) > 0 for _ in range(SERIES))

    assert found / SERIES <= 0.06


@pytest.mark.soak
def test_a_drop_of_twenty_points_is_nearly_always_seen() -> None:
    rng = Random(2)

    found = sum(_changes(_task_runs(rng, shift=0.2)) > 0 for _ in range(SERIES))

    assert found / SERIES >= 0.95


def test_tasks_that_never_vary_have_no_error() -> None:
    assert errors_across_runs([{"a": [100.0]}, {"a": [100.0]}]) is None


def test_samples_without_an_answer_have_no_value() -> None:
    failed = evaluation(completion_pass=None, latency_ms=None, error="timed out")

    run = harness_run("x", evaluations=(failed, evaluation(sample=1)))

    assert {metric: task_values(run, "a", metric) for metric in VALUES} == {
        "task_completion_rate": {"one": [100.0]},
        "retries_per_task": {"one": [0.0]},
        "hallucination_incidents": {"one": [0.0, 0.0]},
        "latency_avg_ms": {"one": [800.0]},
    }


@pytest.mark.parametrize("metric", VALUES)
def test_runs_without_evaluations_have_trends_too(tmp_path: Path, metric: str) -> None:
    folder = HarnessFolder(tmp_path)
    for at, rate in enumerate((90.0, 91.0, 89.0, 90.0, 91.0)):
        add_run(folder.results, harness_run(f"run-{at}", summary(task_completion_rate=rate), evaluations=()))

    found = harness_trends(folder, HarnessTrendQuery(metric=metric))

    assert found is not None
    ((trend,),) = [each.metrics for each in found.configs]
    assert [len(trend.points), len(trend.changes)] == [5, 0]
    assert trend.noise == ("series" if metric == "task_completion_rate" else None)


def test_a_run_whose_tasks_all_failed_is_not_a_point(tmp_path: Path) -> None:
    folder = HarnessFolder(tmp_path)
    for at in range(3):
        nothing: dict[str, Any] = (
            {"task_completion_rate": None, "retries_per_task": None, "latency_avg_ms": None} if at == 1 else {}
        )
        add_run(folder.results, harness_run(f"run-{at}", summary(**nothing)))

    found = harness_trends(folder, HarnessTrendQuery(metric="task_completion_rate"))

    assert found is not None
    assert [point.run_id for point in found.configs[0].metrics[0].points] == ["run-0", "run-2"]
