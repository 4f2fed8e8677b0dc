"""How surprising the largest jump of a series is."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from entries import each

from prompt_evaluator.stats.scan import scan_p_value

PUBLISHED = {
    0.05: {4: 2.35, 5: 2.43, 6: 2.50, 8: 2.58, 10: 2.65, 15: 2.75, 20: 2.81, 30: 2.89, 50: 2.97},
    0.01: {5: 3.00, 10: 3.17, 20: 3.34, 50: 3.51},
}
"""Critical values for equal weights, from 60,000 random series each."""
WEIGHTS = ([1.0] * 8, [1, 9, 1, 0.1, 4, 1, 2, 30], [1, 1e-6, 1, 1, 1e6, 1], [1.0, 2.0], [0.001] * 40)


@each(("level", "count", "bound"), [(level, *pair) for level, table in PUBLISHED.items() for pair in table.items()])
def test_known_critical_values_have_their_level(level: float, count: int, bound: float) -> None:
    assert scan_p_value([1.0] * count, bound) == pytest.approx(level, rel=0.09)


@each("weights", WEIGHTS)
def test_any_weights_agree_with_random_series(weights: list[float]) -> None:
    rng, given = np.random.default_rng(5), np.array(weights)
    values = rng.standard_normal((30_000, len(weights))) / np.sqrt(given)
    left, total = np.cumsum(given)[:-1], given.sum()
    sums = np.cumsum(given * values, axis=1)
    jumps = (sums[:, -1:] - sums[:, :-1]) / (total - left) - sums[:, :-1] / left
    largest = np.abs(jumps / np.sqrt(1 / left + 1 / (total - left))).max(axis=1)

    for bound in (1.0, 2.0, 2.6, 3.2):
        assert scan_p_value(weights, bound) == pytest.approx((largest >= bound).mean(), abs=0.01)


def test_the_chance_falls_with_the_statistic_down_to_almost_nothing() -> None:
    chances = [scan_p_value([1.0, 2.0, 3.0, 1.0, 5.0], at / 10) for at in range(200)]

    assert chances[0] == 1
    assert all(later <= earlier for earlier, later in pairwise(chances))
    assert 0 < chances[-1] < 1e-50


def test_errors_estimated_together_are_allowed_for() -> None:
    rng = np.random.default_rng(6)
    values, freedom = rng.standard_normal((200_000, 8)), 12
    sums = np.cumsum(values, axis=1)
    left = np.arange(1, 8)
    jumps = (sums[:, -1:] - sums[:, :-1]) / (8 - left) - sums[:, :-1] / left
    largest = np.abs(jumps / np.sqrt(1 / left + 1 / (8 - left))).max(axis=1)
    bound = float(np.quantile(largest / np.sqrt(rng.chisquare(freedom, 200_000) / freedom), 0.95))

    assert 0.05 <= scan_p_value([1.0] * 8, bound, freedom) <= 0.06
    assert scan_p_value([1.0] * 8, bound) < 0.03
