"""Totals of one metric or flag over the cases of a run."""

from __future__ import annotations

import heapq
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_evaluator.model.result import OverallFlag, OverallMetric, WorstCase
from prompt_evaluator.stats import flag_band, variability
from prompt_evaluator.stats.intervals import summed_interval, summed_share_interval
from prompt_evaluator.stats.reducers import Samples
from prompt_evaluator.stats.sums import ExactSum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prompt_evaluator.model.result import CaseResult, MetricStats

SHOWN = 5
"""Cases that are listed as worst or flakiest."""


class MetricTotals:
    """One metric's numbers, summed up: a run may have a great many cases, so nothing is kept of each."""

    def __init__(self, name: str, scale: tuple[float, float]) -> None:
        self._name, self._scale = name, scale
        self._means = ExactSum()
        self._at_ends = [0, 0]
        """Cases whose mean is the lowest or the highest score."""
        self._low, self._high = ExactSum(), ExactSum()
        """Of cases with missing scores: their means if all of these were the worst or the best."""
        self._partial = ExactSum()
        """The known means of the same cases."""
        self._stds, self._repeat_stds, self._pass_rates = ExactSum(), ExactSum(), ExactSum()
        self._flaky = self._high_variability = self._wide_range = self._failed = 0
        self._reduced: dict[str, ExactSum] = {}
        self._worst: list[tuple[float, str, float | None]] = []
        self._flakiest: list[tuple[float, str, float]] = []

    def add(self, case: CaseResult, reducers: Mapping[str, Callable[[Samples], float]]) -> None:
        stats, missing = case.per_metric_stats.get(self._name), case.missing_scores.get(self._name, 0)
        self._failed += missing
        if missing:
            self._add_bounds(stats, missing)
        if stats is None:
            return
        self._means.add(stats.mean)
        self._at_ends[0] += stats.mean == self._scale[0]
        self._at_ends[1] += stats.mean == self._scale[1]
        if reducers:
            self._reduce(case, reducers)
        if stats.std is not None:
            self._stds.add(stats.std)
            self._high_variability += stats.variability == "high"
            _keep(self._flakiest, (stats.std, case.test_case_id, stats.mean))
        if stats.repeat_std is not None:
            self._repeat_stds.add(stats.repeat_std)
        self._wide_range += stats.wide_range
        self._pass_rates.add(stats.pass_rate)
        self._flaky += 0 < stats.pass_rate < 1
        _keep(self._worst, (-stats.mean, case.test_case_id, stats.std))

    def _add_bounds(self, stats: MetricStats | None, missing: int) -> None:
        known, count = (stats.mean * stats.count, stats.count) if stats else (0.0, 0)
        low, high = ((known + missing * end) / (count + missing) for end in self._scale)
        self._low.add(low)
        self._high.add(high)
        if stats:
            self._partial.add(stats.mean)

    def _bounds(self) -> tuple[float, float] | None:
        """The mean if all missing scores were the worst, and the best; None if none is missing."""
        if not self._failed:
            return None
        complete = self._means.total - self._partial.total
        count = self._means.count - self._partial.count + self._low.count
        return (complete + self._low.total) / count, (complete + self._high.total) / count

    def _reduce(self, case: CaseResult, reducers: Mapping[str, Callable[[Samples], float]]) -> None:
        found = [scored for sample in case.samples if (scored := sample.passes().get(self._name)) is not None]
        if not found:
            return
        samples = Samples([value for value, _ in found], [passed for _, passed in found])
        for name, reduce in reducers.items():
            with suppress(ValueError):  # too few samples, because some have no score
                self._reduced.setdefault(name, ExactSum()).add(reduce(samples))

    @property
    def is_measured(self) -> bool:
        """Whether any case has a score."""
        return self._means.count > 0

    @property
    def range(self) -> float:
        return self._scale[1] - self._scale[0]

    def share_of_scale(self, mean: float) -> float:
        """From 0 to 1, so that metrics on different scales can be compared."""
        return (mean - self._scale[0]) / self.range

    def worst(self) -> list[WorstCase]:
        return [WorstCase(test_case_id=case, metric=self._name, mean=-mean, std=std) for mean, case, std in self._worst]

    def flakiest(self) -> list[WorstCase]:
        name = self._name
        return [
            WorstCase(test_case_id=case, metric=name, mean=mean, std=std) for std, case, mean in self._flakiest if std
        ]

    def overall(self, bar: float | None, skipped: int) -> OverallMetric:
        means, rates = self._means, self._pass_rates
        mean, std = means.mean, self._stds.mean if self._stds.count else None
        numbers = means.spread()
        interval = summed_interval(numbers, (self._at_ends[0], self._at_ends[1]), self._scale) if numbers else None
        return OverallMetric(
            mean_of_means=mean,
            min_of_means=means.min,
            max_of_means=means.max,
            num_cases=means.count,
            interval=interval,
            bounds=self._bounds(),
            std=std,
            repeat_std=self._repeat_stds.mean if self._repeat_stds.count else None,
            variability=variability(mean, std, self._scale),
            high_variability_cases=self._high_variability,
            fail_under=bar,
            below=bar is not None and mean < bar,
            near=bar is not None and interval is not None and interval.low <= bar <= interval.high,
            scale=self._scale,
            pass_rate=rates.mean if rates.count else None,
            # Interval of the mean above, in which every case counts once.
            pass_interval=summed_share_interval(rates.total, rates.count, rates.count, rates.count),
            flaky_cases=self._flaky,
            wide_range_cases=self._wide_range,
            skipped=skipped,
            failed=self._failed,
            reduced={name: values.mean for name, values in self._reduced.items()},
        )


class FlagTotals:
    def __init__(self) -> None:
        self._counts: Counter[tuple[int, int]] = Counter()
        """How many cases raise the flag in so many of so many samples."""

    def add(self, case: CaseResult, name: str) -> None:
        stats = case.per_flag_stats[name]
        if stats.total_count:
            self._counts[stats.true_count, stats.total_count] += 1

    def overall(self, bar: float | None) -> OverallFlag:
        raised = sum(raised * cases for (raised, _), cases in self._counts.items())
        asked = sum(asked * cases for (_, asked), cases in self._counts.items())
        squares = sum(asked * asked * cases for (_, asked), cases in self._counts.items())
        return OverallFlag(
            true_count=raised,
            false_count=asked - raised,
            total_count=asked,
            true_proportion=raised / asked if asked else None,
            interval=summed_share_interval(raised, asked, squares, self._counts.total()),
            band=flag_band(raised / asked) if asked else None,
            fail_over=bar,
            above=bar is not None and asked > 0 and raised / asked > bar,
        )


def _keep(
    heap: list[tuple[float, str, float | None]] | list[tuple[float, str, float]], entry: tuple[float, str, float | None]
) -> None:
    """Add an entry, keeping the largest few."""
    if len(heap) < SHOWN:
        heapq.heappush(heap, entry)  # type: ignore[misc]
    else:
        heapq.heappushpop(heap, entry)  # type: ignore[misc]
