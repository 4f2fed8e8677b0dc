from __future__ import annotations

import random
import statistics

import pytest

from prompt_evaluator.stats import mean_interval, resampled_mean, resampled_share, spread

# Two-sided 95 % points of Student's t as every printed table has them.
STUDENT = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 19: 2.093, 29: 2.045, 30: 2.042,
    31: 2.040, 40: 2.021, 60: 2.000, 100: 1.984, 120: 1.980, 100_000: 1.960,
}  # fmt: skip


@pytest.mark.parametrize(("degrees", "t"), STUDENT.items())
def test_the_half_width_is_students(degrees: int, t: float) -> None:
    count = degrees + 1

    found = mean_interval(0.0, count**0.5, count)

    assert found is not None
    assert found.high == pytest.approx(t, abs=6e-4)
    assert found.low == -found.high


def test_an_interval_ends_where_the_scale_ends() -> None:
    assert mean_interval(4.5, 2.0, 3, (1, 5)) == (1, 5)
    assert mean_interval(3.0, 0.0, 3, (1, 5)) == (3.0, 3.0)


def test_one_value_has_no_interval() -> None:
    assert mean_interval(4.0, None, 1) is None
    assert resampled_mean([4.0], seed=1) is None
    assert resampled_mean([], seed=1) is None


def test_the_same_seed_gives_the_same_interval_and_another_one_nearly_the_same() -> None:
    values = [random.Random(1).uniform(1, 5) for _ in range(1)] + [1.0, 2.0, 4.5, 5.0, 3.3, 2.8]

    assert resampled_mean(values, seed=1) == resampled_mean(values, seed=1)
    one, two = resampled_mean(values, seed=1), resampled_mean(values, seed=2)
    assert one is not None
    assert two is not None
    assert one == pytest.approx(two, abs=0.2)


def test_equal_cases_leave_no_doubt() -> None:
    assert resampled_mean([3.5] * 8, seed=1) == (3.5, 3.5)


def test_resampled_means_cover_the_truth_about_95_times_in_100() -> None:
    rng = random.Random(7)
    covered = 0
    for trial in range(200):
        found = resampled_mean([rng.gauss(3, 1) for _ in range(40)], seed=trial)
        assert found is not None
        covered += found.low <= 3 <= found.high

    assert 180 <= covered <= 199


def test_students_intervals_cover_the_truth_about_95_times_in_100() -> None:
    rng = random.Random(8)
    covered = 0
    for _ in range(1_000):
        numbers = spread([rng.gauss(3, 1) for _ in range(5)])
        assert numbers is not None
        found = mean_interval(numbers.mean, numbers.std, numbers.count)
        assert found is not None
        covered += found.low <= 3 <= found.high

    assert 930 <= covered <= 970


def test_samples_of_one_case_are_not_counted_as_independent() -> None:
    raised, asked = [10, 0, 10, 0], [10, 10, 10, 10]

    by_case = resampled_share(raised, asked, seed=1)
    by_sample = resampled_share([1] * 20 + [0] * 20, [1] * 40, seed=1)

    assert by_case is not None
    assert by_sample is not None
    assert by_case.high - by_case.low > 2 * (by_sample.high - by_sample.low)


def test_cases_with_more_samples_weigh_more_in_a_share() -> None:
    found = resampled_share([0] * 50 + [100] * 50, [1] * 50 + [100] * 50, seed=1)

    assert found is not None
    assert found.low > 0.95


def test_many_cases_take_the_short_way_to_the_same_result() -> None:
    rng = random.Random(9)
    values = [rng.uniform(1, 5) for _ in range(2_001)]

    short, long = resampled_mean(values, seed=1), resampled_mean(values[:2_000], seed=1)

    assert short is not None
    assert long is not None
    assert short == pytest.approx(long, abs=0.01)
    assert short.low < statistics.fmean(values) < short.high
