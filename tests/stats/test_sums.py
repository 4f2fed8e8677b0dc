"""Sums in constant memory."""

from __future__ import annotations

import math
import random
import statistics
from fractions import Fraction

import pytest
from entries import each

from prompt_evaluator.stats.sums import ExactSum


def _sum(values: list[float]) -> ExactSum:
    found = ExactSum()
    for value in values:
        found.add(value)
    return found


@each(
    "values",
    [
        [0.1] * 7,
        [1.0, 2.0, 4.5],
        [1e300, -1e300, 1e-300],
        [5e-324, 1.7e308],
        [random.Random(1).uniform(1, 5) for _ in range(500)],
        [1e9 + at / 3 for at in range(50)],
    ],
    ids=["equal", "few", "cancelling", "extreme", "random", "far from 0"],
)
def test_a_sum_has_the_mean_and_spread_of_the_values(values: list[float]) -> None:
    found = _sum(values).spread()

    assert found is not None
    assert found.mean == statistics.fmean(values)
    assert found.std == pytest.approx(statistics.stdev(map(Fraction, values)), rel=1e-12)
    assert (found.min, found.max, found.count) == (min(values), max(values), len(values))


def test_a_sum_is_the_same_in_any_order() -> None:
    values = [random.Random(2).lognormvariate(0, 20) for _ in range(200)]

    forwards, backwards = _sum(values), _sum(sorted(values))

    assert (forwards.total, forwards.mean, forwards.std) == (backwards.total, backwards.mean, backwards.std)
    assert forwards.total == math.fsum(values)


def test_a_value_added_several_times_counts_as_often() -> None:
    found = ExactSum()
    found.add(0.3, times=3)
    found.add(1, times=1)

    assert found.mean == statistics.fmean([0.3, 0.3, 0.3, 1])
    assert found.std == pytest.approx(statistics.stdev([0.3, 0.3, 0.3, 1]))


def test_one_number_has_no_spread_and_no_number_has_no_mean() -> None:
    assert _sum([2.5]).std is None
    assert ExactSum().spread() is None


def test_a_sum_can_be_read_at_any_time_while_it_grows() -> None:
    values = [random.Random(3).choice([0.1, 1 / 3, 2.5, -7.0]) for _ in range(50)]
    found = ExactSum()

    for count, value in enumerate(values, start=1):
        found.add(value)
        assert found.total == math.fsum(values[:count])
        assert (found.min, found.max) == (min(values[:count]), max(values[:count]))
