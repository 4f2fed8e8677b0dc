"""Where the level of a series changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from entries import each

from prompt_evaluator.stats.changes import ChangePoint, find_changes


def points(*given: Any, **options: Any) -> list[ChangePoint]:
    return list(find_changes(*given, **options).points)


NOISE = (0.02, -0.01, 0.01, -0.02, 0.0, 0.03, -0.03, 0.0, 0.01, -0.01)
ONE_STEP = [level + each for level in (1.0, 0.5) for each in NOISE]


@each("at", range(1, 11))
def test_a_blip_is_found_at_any_place_but_the_ends(at: int) -> None:
    values = [4.0, 4.01, 3.99, 4.0, 4.02, 4.0, 3.98, 4.0, 4.01, 4.0, 3.99, 4.0]
    values[at] -= 0.5

    assert find_changes(values, [0.05] * 12) == ((), (at,))


def test_a_last_run_far_off_is_a_change_until_the_next_one_says_otherwise() -> None:
    values = [4.0, 4.01, 3.99, 4.0, 4.02, 3.5]

    assert [point.index for point in points(values, [0.05] * 6)] == [5]
    assert find_changes([*values, 4.0], [0.05] * 7) == ((), (5,))


def test_a_level_that_lasts_two_runs_is_two_changes() -> None:
    values = [4.0, 4.01, 3.99, 4.0, 3.5, 3.52, 4.02, 4.0, 3.99, 4.01]

    assert [point.index for point in points(values, [0.05] * 10)] == [4, 6]


@pytest.mark.parametrize(
    ("values", "error", "expected"),
    [
        (ONE_STEP, 0.05, [10]),
        ([0.3, 2.4, 1.5, -0.9, -0.5, 99.7, 98.3, 99.1, 149, 149.7, 149.5, 149.1, 148.8, 150], 1.0, [5, 8]),
    ],
    ids=["one step", "two steps"],
)
def test_published_series_of_otava_give_its_indices(values: list[float], error: float, expected: list[int]) -> None:
    assert [point.index for point in points(values, [error] * len(values))] == expected


def test_a_change_has_both_levels_their_error_and_a_p_value() -> None:
    (point,) = points([4.2, 4.2, 4.2, 4.2, 3.8, 3.8, 3.8, 3.8], [0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 0.2, 0.2])

    assert point.index == 4
    assert (point.before, point.after) == pytest.approx((4.2, 3.8))
    assert point.error == pytest.approx((0.01 / 4 + 0.04 / 4) ** 0.5)
    assert point.z == pytest.approx(-0.4 / point.error)
    assert 0.0003 < point.p < 0.005


def test_values_count_by_their_precision() -> None:
    """One sure value moves a level more than many unsure ones."""
    (point,) = points([1, 5, 5, 9, 9, 9], [0.1, 10, 10, 0.1, 0.1, 0.1])

    assert point.before == pytest.approx(1, abs=0.01)


def test_changes_smaller_than_asked_for_are_dropped() -> None:
    values = [4.0] * 6 + [3.95] * 6

    assert points(values, [0.01] * 12)
    assert points(values, [0.01] * 12, smallest=0.1) == []


def test_errors_estimated_from_little_make_a_change_less_sure() -> None:
    values, errors = [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0], [0.4] * 8
    (sure,) = points(values, errors)

    (unsure,) = points(values, errors, freedom=20)

    assert unsure.p > sure.p
    assert points(values, errors, freedom=3) == []


@each("count", [0, 1, 2, 3])
def test_short_series_are_no_problem(count: int) -> None:
    assert points([1.0] * count, [0.1] * count) == []


@each("errors", [[0.0, 1.0], [1.0], [float("nan"), 1.0], [float("inf"), 1.0]])
def test_a_value_without_a_usable_error_is_refused(errors: list[float]) -> None:
    with pytest.raises(ValueError, match="standard error above 0"):
        points([1.0, 2.0], errors)


def test_two_hundred_runs_with_several_changes() -> None:
    rng = np.random.default_rng(3)
    levels = np.repeat([4.2, 3.8, 4.0, 4.4], 50)

    found = points(list(levels + rng.standard_normal(200) * 0.05), [0.05] * 200)

    assert [abs(point.index - at) <= 1 for point, at in zip(found, (50, 100, 150), strict=True)] == [True] * 3
