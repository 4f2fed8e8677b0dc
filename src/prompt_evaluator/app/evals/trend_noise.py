"""How much does each task of a configuration vary from run to run?"""

from __future__ import annotations

import math
from statistics import fmean, variance
from typing import TYPE_CHECKING

from prompt_evaluator.app.trend_errors import PLENTY, Errors

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from prompt_evaluator.model.harness import HarnessEvaluation, HarnessRun

TaskValues = dict[str, list[float]]
"""By task, one for each sample that has an answer."""
VALUES: Mapping[str, Callable[[HarnessEvaluation], float | None]] = {
    "task_completion_rate": lambda each: None if each.completion_pass is None else 100.0 * each.completion_pass,
    "retries_per_task": lambda each: None if each.completion_pass is None else float(each.retries_used),
    "hallucination_incidents": lambda each: float(max(each.hallucination_incidents, each.hallucination_incident)),
    "latency_avg_ms": lambda each: each.latency_ms,
}


def task_values(run: HarnessRun, config_id: str, metric: str) -> TaskValues:
    """The values of a metric that its mean is about."""
    found: TaskValues = {}
    for each in run.evaluations:
        if each.config_id == config_id and (value := VALUES[metric](each)) is not None:
            found.setdefault(each.task_id, []).append(value)
    return found


def errors_across_runs(values: Sequence[TaskValues]) -> Errors | None:
    """The error of each run's mean from how much each task varies over all runs; None if none does.

    Latencies have long tails, so errors from the samples of each run alone are too small where no sample is in the
    tail. A change in the series makes these errors larger, but not much: a change of all tasks by d adds at most d / 2
    over the square root of the number of tasks.
    """
    means: dict[str, list[float]] = {}
    for of_run in values:
        for task, samples in of_run.items():
            means.setdefault(task, []).append(fmean(samples))
    spread = {task: variance(each) for task, each in means.items() if len(each) > 1}
    total = math.fsum(spread.values())
    if not total or not all(values):
        return None
    typical = total / len(spread)  # for a task that only one run has
    squares = [math.fsum(spread.get(task, typical) for task in of_run) / len(of_run) ** 2 for of_run in values]
    freedom = total**2 / math.fsum(each**2 / (len(means[task]) - 1) for task, each in spread.items())
    if not all(squares):
        return None
    return Errors([math.sqrt(each) for each in squares], "all_runs", None if freedom >= PLENTY else max(1.0, freedom))
