"""Series and scores whose truth is known: how often a change is seen, and how often an interval is right."""

from __future__ import annotations

import random
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from prompt_evaluator.stats.changes import find_changes
from prompt_evaluator.stats.exact import permutation_less
from prompt_evaluator.stats.paired import paired_difference
from prompt_evaluator.stats.two_groups import Group, means_differ

if TYPE_CHECKING:
    from collections.abc import Callable

SPAN = 4.0
TRUTHS: dict[str, tuple[float, Callable[[random.Random], float], float]] = {
    "normal": (-0.2, lambda rng: rng.gauss(-0.2, 0.5), 0.93),
    "whole scores": (-1 / 6, lambda rng: rng.choice([-1.0, -1.0, 0.0, 0.0, 0.0, 1.0]), 0.93),
    "one case in ten drops": (-0.1, lambda rng: -1.0 if rng.random() < 0.1 else 0.0, 0.87),
    "hardly a case changes": (0.06, lambda rng: 2.0 if rng.random() < 0.03 else 0.0, 0.93),
}


def equal(_: np.random.Generator, count: int) -> Any:
    return np.ones(count)


def unequal(rng: np.random.Generator, count: int) -> Any:
    """Between half and twice the usual."""
    return np.exp(rng.uniform(-0.7, 0.7, count))


class Rates(NamedTuple):
    found: float
    within_one: float
    blips: float


def rates(series: int, *, errors: Callable[..., Any] = equal, runs: int = 8, step: float = 0, blip: float = 0) -> Rates:
    """How often a change is found, in series with a step somewhere after the second and before the last but one."""
    rng = np.random.default_rng(20_260_101)
    found = near = blips = 0
    for _ in range(series):
        sizes = errors(rng, runs)
        values = rng.standard_normal(runs) * sizes
        at = int(rng.integers(2, runs - 1))
        values[at:] += step
        values[int(rng.integers(1, runs - 1))] += blip
        changes = find_changes(list(values), list(sizes))
        found += bool(changes.points)
        near += any(abs(point.index - at) <= 1 for point in changes.points)
        blips += bool(changes.blips)
    return Rates(found / series, near / max(found, 1), blips / series)


@pytest.mark.parametrize("errors", [equal, unequal])
def test_a_step_of_three_standard_errors_in_eight_runs_is_found_and_placed(errors: Callable[..., Any]) -> None:
    seen = rates(20_000, errors=errors, step=3)

    assert seen.found >= 0.85
    assert seen.within_one >= 0.90


@pytest.mark.parametrize("errors", [equal, unequal])
@pytest.mark.parametrize("runs", [4, 8, 20])
def test_a_series_without_a_change_shows_one_in_at_most_six_percent(errors: Callable[..., Any], runs: int) -> None:
    assert rates(50_000, errors=errors, runs=runs).found <= 0.06


def test_a_run_far_off_is_set_aside_and_not_alarmed() -> None:
    seen = rates(10_000, runs=12, blip=7)

    assert seen.found <= 0.08
    assert seen.blips >= 0.98


@pytest.mark.parametrize("name", TRUTHS)
@pytest.mark.parametrize("cases", [5, 12, 50])
def test_intervals_of_a_difference_cover_the_truth(name: str, cases: int) -> None:
    truth, draw, at_least = TRUTHS[name]
    rng = random.Random(f"{name} {cases}")
    covered, tried = 0, 10_000
    for _ in range(tried):
        found = paired_difference([draw(rng) for _ in range(cases)], span=SPAN)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high

    assert covered / tried >= at_least


def test_a_reshuffled_copy_differs_significantly_in_about_5_of_100() -> None:
    rng = random.Random(3)
    small, tried = 0, 10_000
    for _ in range(tried):
        found = paired_difference([rng.randint(1, 5) - rng.randint(1, 5) for _ in range(50)], span=SPAN)
        assert found.p_value is not None
        small += found.p_value < 0.05

    assert 0.03 <= small / tried <= 0.07


def test_the_p_value_of_drawn_permutations_is_small_no_more_often_than_it_says() -> None:
    rng = random.Random(6)
    found = [
        permutation_less([rng.gauss(0, 1) for _ in range(15)], [rng.gauss(0, 1) for _ in range(15)]) for _ in range(400)
    ]

    assert sum(p <= 0.05 for p in found) <= 32
    assert 160 <= sum(p <= 0.5 for p in found) <= 240


def test_at_most_one_in_twenty_equal_groups_of_clustered_scores_is_called_different() -> None:
    rng = random.Random(2)
    wrong = 0
    for _ in range(10_000):
        every = [float(rng.random() < 0.9) for _ in range(100)]
        p_value = means_differ(_group(every[:8]), _group(every[8:]))
        wrong += p_value is not None and p_value < 0.05

    assert wrong <= 0.06 * 10_000


def _group(values: list[float]) -> Group:
    return Group(fmean(values), stdev(values), len(values))
