from __future__ import annotations

import statistics

import pytest
from entries import each
from hypothesis import given
from hypothesis import strategies as st

from prompt_evaluator.stats import Spread, spread

SCORES = st.lists(st.floats(-100, 100, allow_nan=False), min_size=2, max_size=30)


@each(
    ("values", "expected"),
    [
        ([4.0], Spread(4.0, None, 4.0, 4.0, 1)),
        ([3.0, 3.0], Spread(3.0, 0.0, 3.0, 3.0, 2)),
        ([1.0, 5.0], Spread(3.0, 8**0.5, 1.0, 5.0, 2)),
        ([1.0, 2.0, 3.0, 4.0, 5.0], Spread(3.0, 2.5**0.5, 1.0, 5.0, 5)),
        ([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0], Spread(5.0, (32 / 7) ** 0.5, 2.0, 9.0, 8)),
    ],
    ids=["one value has no spread", "equal values have none", "two", "one to five", "the textbook's eight"],
)
def test_the_five_numbers_are_those_of_the_textbook(values: list[float], expected: Spread) -> None:
    found = spread(values)

    assert found is not None
    assert (found.mean, found.min, found.max, found.count) == (
        expected.mean, expected.min, expected.max, expected.count
    )  # fmt: skip
    assert found.std == (None if expected.std is None else pytest.approx(expected.std))


@each("value", [3.76, 0.1, 1e-300, -2.3])
@each("count", [2, 3, 5, 7])
def test_the_same_value_each_time_has_no_spread_at_all(value: float, count: int) -> None:
    found = spread([value] * count)

    assert found is not None
    assert (found.mean, found.std) == (value, 0.0)


def test_nothing_measured_is_not_zero() -> None:
    assert spread([]) is None


def test_a_tenth_added_ten_times_is_one() -> None:
    found = spread([0.1] * 10)

    assert found == Spread(0.1, 0.0, 0.1, 0.1, 10)


@given(SCORES)
def test_it_agrees_with_the_standard_library(values: list[float]) -> None:
    found = spread(values)

    assert found is not None
    assert found.mean == pytest.approx(statistics.fmean(values), abs=1e-9)
    assert found.std == pytest.approx(statistics.stdev(values), abs=1e-6)
