"""Whether values differ more than their errors explain."""

from __future__ import annotations

import numpy as np
import pytest
from entries import each
from scipy.stats import chi2

from prompt_evaluator.stats.excess import chi_square_tail, excess_of_repeats, excess_within


@each("freedom", [1, 3, 10, 50, 500])
def test_tails_of_chi_square_agree_with_scipy(freedom: int) -> None:
    for value in np.linspace(0.2, 3, 15) * freedom:
        assert chi_square_tail(float(value), freedom) == pytest.approx(chi2.sf(value, freedom), abs=0.011)


def test_values_within_their_errors_show_no_excess() -> None:
    rng = np.random.default_rng(1)
    chances = [excess_within(list(rng.standard_normal(12)), [1.0] * 12, ()).p for _ in range(1_000)]

    assert 0.03 <= np.mean(np.array(chances) < 0.05) <= 0.07


def test_the_excess_is_measured_between_cuts_only() -> None:
    rng = np.random.default_rng(2)
    values = rng.standard_normal(400) * np.sqrt(1 + 4)
    values[200:] += 100

    assert excess_within(list(values), [1.0] * 400, (200,)).variance == pytest.approx(4, rel=0.2)
    assert excess_within(list(values), [1.0] * 400, (200,)).p < 1e-6
    assert excess_within(list(values), [1.0] * 400, ()).variance > 1_000


def test_repeats_show_their_excess_and_one_change_among_them_is_none() -> None:
    rng = np.random.default_rng(3)
    jittery = rng.standard_normal(300) * np.sqrt(1 + 4)
    steady = rng.standard_normal(12)
    steady[6:] += 20

    assert excess_of_repeats([(float(d), 2.0) for d in np.diff(jittery)]).variance == pytest.approx(4, rel=0.25)
    assert excess_of_repeats([(float(d), 2.0) for d in np.diff(steady)]).p > 0.05


@pytest.mark.parametrize("pairs", [[], [(5.0, 0.1)]])
def test_nothing_is_said_of_fewer_than_two_pairs(pairs: list[tuple[float, float]]) -> None:
    assert excess_of_repeats(pairs) == (0.0, 1.0)
    assert excess_within([1.0], [0.1], ()) == (0.0, 1.0)
