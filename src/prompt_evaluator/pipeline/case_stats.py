"""Statistics of a case's scores and flags over its samples, and which scores are missing."""

from __future__ import annotations

import statistics
from functools import lru_cache
from typing import TYPE_CHECKING

from prompt_evaluator.model.result import FlagStats, MetricStats
from prompt_evaluator.stats import mean_interval, spread, variability
from prompt_evaluator.stats.bands import wide_range
from prompt_evaluator.stats.intervals import wilson

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.model.result import SampleResult

_FROM_0_TO_1 = (0.0, 1.0)


def metric_stats(
    results: Sequence[SampleResult], names: Sequence[str], scales: Mapping[str, tuple[float, float]]
) -> dict[str, MetricStats]:
    """Statistics of each score, in the order of `names`; scores that no sample has are left out."""
    found = {}
    repeated = [result for result in results if result.judge_repeats or result.scores]
    for name in names:
        values, passed = [], 0
        for result in results:
            score = result.judge_metrics.get(name) or result.scores.get(name)
            if score is not None and score.score is not None:
                values.append(score.score + 0.0)  # 1 and -0.0 would be remembered in place of 1.0 and 0.0
                passed += bool(score.passed)
        if values:
            found[name] = _stats(tuple(values), passed, scales.get(name, _FROM_0_TO_1), _repeat_std(name, repeated))
    return found


@lru_cache(maxsize=4_096)
def _stats(values: tuple[float, ...], passed: int, scale: tuple[float, float], repeat_std: float | None) -> MetricStats:
    """Remembered, because scores are often small whole numbers: many cases have the same ones."""
    numbers = spread(values)
    assert numbers is not None  # noqa: S101 - there is at least one value
    mean, std, count = numbers.mean, numbers.std, numbers.count
    return MetricStats(
        mean=mean,
        std=std,
        min=numbers.min,
        max=numbers.max,
        count=count,
        interval=mean_interval(mean, std, count, scale),
        variability=variability(mean, std, scale),
        wide_range=wide_range(numbers.min, numbers.max, scale),
        repeat_std=repeat_std,
        passed=passed,
        pass_rate=passed / count,
        pass_interval=wilson(passed, count),
    )


def _repeat_std(name: str, results: Sequence[SampleResult]) -> float | None:
    """The pooled standard deviation between judgements of the same answer."""
    variances = [statistics.variance(scores) for result in results if len(scores := _repeats(name, result)) > 1]
    return statistics.fmean(variances) ** 0.5 if variances else None


def _repeats(name: str, result: SampleResult) -> Sequence[float]:
    if found := result.scores.get(name):
        return [value for value in found.repeats if value is not None] if found.repeats else ()
    repeats = result.judge_repeats
    if repeats is None:
        return ()
    return [repeat.metrics[name].score for repeat in repeats if repeat.metrics and name in repeat.metrics]


def missing_scores(results: Sequence[SampleResult], names: Sequence[str]) -> dict[str, int]:
    """Count the attempted samples that lack each score. Completed samples lack none."""
    tried = [result for result in results if result.status not in ("pending", "completed")]
    if not tried:
        return {}
    missing = {name: sum(_lacks(result, name) for result in tried) for name in names}
    return {name: count for name, count in missing.items() if count and not _is_skipped(results, name)}


def _lacks(result: SampleResult, name: str) -> bool:
    if name in result.judge_metrics:
        return False
    found = result.scores.get(name)
    return found is None or found.status == "failed"


def _is_skipped(results: Sequence[SampleResult], name: str) -> bool:
    """Whether the metric skips this case; then a sample without an answer does not lack its score."""
    found = [result.scores[name].status for result in results if name in result.scores]
    return "skipped" in found and "failed" not in found and "scored" not in found


def flag_stats(results: Sequence[SampleResult], names: Sequence[str]) -> dict[str, FlagStats]:
    found = {}
    for name in names:
        values = [result.judge_flags[name] for result in results if name in result.judge_flags]
        raised = sum(values)
        found[name] = FlagStats(
            true_count=raised,
            false_count=len(values) - raised,
            total_count=len(values),
            true_proportion=raised / len(values) if values else None,
        )
    return found
