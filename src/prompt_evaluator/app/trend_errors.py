"""How certain is the mean of each run, if the same cases were answered again?

The cases are the same in all runs, so what matters is how much the samples of a case vary, not how much cases differ.
"""

from __future__ import annotations

import math
from itertools import pairwise
from statistics import fmean, median
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.trend import CaseNoise, Noise

_MOST_CASES = 1_000
"""Errors are estimated from at most so many cases, evenly spread: reading all of them takes seconds in large runs."""
_ENOUGH = 30
"""Degrees of freedom needed to use a run's own variance."""
PLENTY = 100
"""Degrees of freedom that make a variance count as known."""

_WORTH = 7
"""Differences of neighbours overlap, and a median uses less of them than a mean: so many tell as much as one."""


class NoiseSource(Protocol):
    """The part of the store that says how much scores vary."""

    def case_noise(self, run_ids: Sequence[str], metric: str, positions: Sequence[int]) -> dict[str, CaseNoise]: ...

    def case_steps(self, run_ids: Sequence[str], metric: str, positions: Sequence[int]) -> list[float]: ...


class MeasuredRun(NamedTuple):
    """A run's mean over its cases."""

    run_id: str
    mean: float
    cases: int


class Errors(NamedTuple):
    """Standard errors of the means, all above 0."""

    values: list[float]
    noise: Noise
    freedom: float | None
    """Degrees of freedom; None if there are plenty."""


def standard_errors(store: NoiseSource, runs: Sequence[MeasuredRun], metric: str, selected: int) -> Errors | None:
    """Return the standard error of each mean; None if there is nothing to tell it from.

    Args:
        store: Where the runs are.
        runs: Oldest first, with the same cases.
        metric: The metric.
        selected: How many cases each run has.
    """
    positions = range(0, selected, math.ceil(selected / _MOST_CASES) or 1)
    ids = [run.run_id for run in runs]
    noise = store.case_noise(ids, metric, positions)
    return (
        _from_samples(runs, noise)
        or _from_neighbours(runs, store.case_steps(ids, metric, positions), len(positions))
        or _from_series([run.mean for run in runs])
    )


def _from_samples(runs: Sequence[MeasuredRun], noise: dict[str, CaseNoise]) -> Errors | None:
    spare = math.fsum(each.spare for each in noise.values())
    pooled = math.fsum(each.spare * _variance(each) for each in noise.values()) / spare if spare else 0.0
    if not pooled:
        return None
    squared = []
    alone = True
    for run in runs:
        each = noise.get(run.run_id)
        own = each is not None and _freedom(each) >= _ENOUGH
        alone = alone and own
        variance = _variance(each) if each is not None and own else pooled
        # The cases looked at are a fair part of all of them.
        squared.append(variance * each.inverse_counts / (each.cases * run.cases) if each else variance / run.cases)
    if alone:
        return Errors([math.sqrt(value) for value in squared], "samples", None)
    parts = [(each.spare * _variance(each), _freedom(each)) for each in noise.values() if _freedom(each)]
    freedom = math.fsum(part for part, _ in parts) ** 2 / math.fsum(part**2 / own for part, own in parts)
    return Errors([math.sqrt(value) for value in squared], "all_runs", None if freedom >= PLENTY else max(1.0, freedom))


def _variance(noise: CaseNoise) -> float:
    """Of a sample within its case."""
    return noise.squares / noise.several_inverse_counts if noise.several_inverse_counts else 0.0


def _freedom(noise: CaseNoise) -> float:
    """Effective degrees of freedom (Satterthwaite 1946): few, if only a few cases vary at all."""
    return noise.squares**2 / noise.fourths if noise.fourths else 0.0


def _from_neighbours(runs: Sequence[MeasuredRun], steps: Sequence[float], cases: int) -> Errors | None:
    """Errors from how much the same case differs between neighbouring runs; a change affects only one pair."""
    if not steps or not any(steps):
        return None
    variance = (median(steps) or fmean(steps)) / 2
    freedom = max(1.0, (cases - 1) * len(steps) / _WORTH)
    return Errors(
        [math.sqrt(variance / run.cases) for run in runs], "neighbours", None if freedom >= PLENTY else freedom
    )


def _from_series(means: Sequence[float]) -> Errors | None:
    """Rough errors from how much the mean differs from one run to the next; None if it never does."""
    squares = [(later - earlier) ** 2 for earlier, later in pairwise(means)]
    if not any(squares):
        return None
    return Errors([math.sqrt(fmean(squares) / 2)] * len(means), "series", float(len(squares)))
