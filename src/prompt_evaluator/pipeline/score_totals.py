"""Totals of one metric or flag over the cases of a run."""

from __future__ import annotations

import heapq
import math
import statistics
from array import array
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from prompt_evaluator.model.result import OverallFlag, OverallMetric, WorstCase
from prompt_evaluator.stats import case_mean_interval, clustered_share_interval, flag_band, variability
from prompt_evaluator.stats.reducers import Samples

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from prompt_evaluator.model.result import CaseResult, MetricStats

SHOWN = 5
"""Cases that are listed as worst or flakiest."""


class MetricTotals:
    """One metric's numbers of each case, in arrays because a run may have a great many cases."""

    def __init__(self, name: str, scale: tuple[float, float]) -> None:
        self._name, self._scale = name, scale
        self.means = array("d")
        self._incomplete = array("d")
        """Means of cases with missing scores."""
        self._low = array("d")
        self._high = array("d")
        """Mean if all missing scores were the worst or the best, for cases with missing scores."""
        self._stds = array("d")
        self._repeat_stds = array("d")
        self._pass_rates: Counter[float] = Counter()
        """How many cases have each rate; there are few different ones."""
        self._high_variability = self._wide_range = self._failed = 0
        self._reduced: dict[str, array[float]] = {}
        self._worst: list[tuple[float, str, float | None]] = []
        self._flakiest: list[tuple[float, str, float]] = []

    def add(self, case: CaseResult, reducers: Mapping[str, Callable[[Samples], float]]) -> None:
        stats, missing = case.per_metric_stats.get(self._name), case.missing_scores.get(self._name, 0)
        if missing:
            self._failed += missing
            self._add_bounds(stats, missing)
        if stats is None:
            return
        self.means.append(stats.mean)
        if reducers:
            self._reduce(case, reducers)
        if stats.std is not None:
            self._stds.append(stats.std)
            self._high_variability += stats.variability == "high"
            _keep(self._flakiest, (stats.std, case.test_case_id, stats.mean))
        if stats.repeat_std is not None:
            self._repeat_stds.append(stats.repeat_std)
        self._wide_range += stats.wide_range
        self._pass_rates[stats.pass_rate] += 1
        _keep(self._worst, (-stats.mean, case.test_case_id, stats.std))

    def _add_bounds(self, stats: MetricStats | None, missing: int) -> None:
        known, count = (stats.mean * stats.count, stats.count) if stats else (0.0, 0)
        least, most = self._scale
        self._low.append((known + missing * least) / (count + missing))
        self._high.append((known + missing * most) / (count + missing))
        if stats:
            self._incomplete.append(stats.mean)

    def _bounds(self) -> tuple[float, float] | None:
        """The mean if all missing scores were the worst, and the best; None if none is missing."""
        if not self._low:
            return None
        cases = len(self.means) - len(self._incomplete) + len(self._low)
        complete = [*self.means, *(-mean for mean in self._incomplete)]
        return math.fsum((*complete, *self._low)) / cases, math.fsum((*complete, *self._high)) / cases

    def _reduce(self, case: CaseResult, reducers: Mapping[str, Callable[[Samples], float]]) -> None:
        found = [scored for sample in case.samples if (scored := sample.passes().get(self._name)) is not None]
        if not found:
            return
        samples = Samples([value for value, _ in found], [passed for _, passed in found])
        for name, reduce in reducers.items():
            with suppress(ValueError):  # too few samples, because some have no score
                self._reduced.setdefault(name, array("d")).append(reduce(samples))

    @property
    def mean(self) -> float:
        return statistics.fmean(self.means)

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
        mean = self.mean
        interval = case_mean_interval(self.means, self._scale)
        bounds = self._bounds()
        std = statistics.fmean(self._stds) if self._stds else None
        pass_rates = [*self._pass_rates.elements()]
        return OverallMetric(
            mean_of_means=mean,
            min_of_means=min(self.means),
            max_of_means=max(self.means),
            num_cases=len(self.means),
            interval=interval,
            bounds=bounds,
            std=std,
            repeat_std=statistics.fmean(self._repeat_stds) if self._repeat_stds else None,
            variability=variability(mean, std, self._scale),
            high_variability_cases=self._high_variability,
            fail_under=bar,
            below=bar is not None and mean < bar,
            near=bar is not None and interval is not None and interval.low <= bar <= interval.high,
            scale=self._scale,
            pass_rate=statistics.fmean(pass_rates) if pass_rates else None,
            # Interval of the mean above, in which every case counts once.
            pass_interval=clustered_share_interval(pass_rates, [1] * len(pass_rates)),
            flaky_cases=sum(cases for rate, cases in self._pass_rates.items() if 0 < rate < 1),
            wide_range_cases=self._wide_range,
            skipped=skipped,
            failed=self._failed,
            reduced={name: statistics.fmean(values) for name, values in self._reduced.items()},
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
        counts = [*self._counts.elements()]
        by_case = [count[0] for count in counts], [count[1] for count in counts]
        raised, asked = map(sum, by_case)
        return OverallFlag(
            true_count=raised,
            false_count=asked - raised,
            total_count=asked,
            true_proportion=raised / asked if asked else None,
            interval=clustered_share_interval(*by_case),
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
