from __future__ import annotations

import math
import random
import statistics

import pytest
from entries import each
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from prompt_evaluator.stats import (
    FEWEST_CASES,
    case_mean_interval,
    clustered_share_interval,
    mean_interval,
    spread,
    wilson,
)
from prompt_evaluator.stats.intervals import clopper_pearson

UNIT = (0.0, 1.0)
GUIDE = (1.0, 5.0)
UNBOUNDED = (-math.inf, math.inf)
COUNTS = st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total)))

# Two-sided 95 % points of Student's t as every printed table has them.
STUDENT = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 19: 2.093, 29: 2.045, 30: 2.042,
    31: 2.040, 40: 2.021, 60: 2.000, 100: 1.984, 120: 1.980, 100_000: 1.960,
}  # fmt: skip


@each(("degrees", "t"), STUDENT.items())
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
    assert case_mean_interval([4.0], GUIDE) is None
    assert case_mean_interval([], GUIDE) is None


@each("cases", range(FEWEST_CASES))
def test_below_five_cases_there_is_no_interval(cases: int) -> None:
    assert case_mean_interval([1.0] * cases, UNIT) is None
    assert case_mean_interval([0.3, 0.4, 0.5, 0.6][:cases], UNIT) is None
    assert clustered_share_interval([1] * cases, [5] * cases) is None


def test_five_cases_have_an_interval() -> None:
    assert case_mean_interval([0.3, 0.4, 0.5, 0.6, 0.7], UNIT) is not None
    assert clustered_share_interval([1] * 5, [5] * 5) is not None


def test_a_case_that_was_not_asked_is_not_a_case() -> None:
    assert clustered_share_interval([1, 0, 0, 0, 0], [5, 5, 5, 5, 0]) is None
    assert clustered_share_interval([1, 0, 0, 0, 0, 0], [5, 5, 5, 5, 5, 0]) == clustered_share_interval(
        [1, 0, 0, 0, 0], [5, 5, 5, 5, 5]
    )


def test_the_order_of_cases_does_not_matter() -> None:
    values = [random.Random(1).uniform(1, 5), 1.0, 2.0, 4.5, 5.0, 3.3, 2.8]

    one, two = case_mean_interval(values, GUIDE), case_mean_interval(values[::-1], GUIDE)

    assert one is not None
    assert one == case_mean_interval(values, GUIDE)
    assert one == two


def test_equal_cases_inside_the_scale_say_nothing_about_others() -> None:
    assert case_mean_interval([3.5] * 8, (1.0, 5.0)) is None


def test_none_of_12_right_may_still_be_a_quarter() -> None:
    assert case_mean_interval([0.0] * 12, UNIT) == pytest.approx((0, 0.2646), abs=1e-4)
    assert case_mean_interval([1.0] * 12, UNIT) == pytest.approx((0.7354, 1), abs=1e-4)


@each("right", range(13))
def test_cases_at_the_ends_of_the_scale_have_the_exact_interval(right: int) -> None:
    exact = scipy_stats.binomtest(right, 12).proportion_ci(method="exact")

    unit = case_mean_interval([1.0] * right + [0.0] * (12 - right), UNIT)
    guide = case_mean_interval([5.0] * right + [1.0] * (12 - right), GUIDE)

    assert unit == pytest.approx((exact.low, exact.high))
    assert guide == pytest.approx((1 + 4 * exact.low, 1 + 4 * exact.high))


@each("scale", [UNIT, GUIDE, (-1.5, 1.0), (0.1, 0.7), (0.0, 100.0)])
def test_the_best_and_the_worst_reach_the_ends_of_the_scale_and_no_further(scale: tuple[float, float]) -> None:
    worst, best = (case_mean_interval([end] * 7, scale) for end in scale)

    assert worst is not None
    assert best is not None
    assert worst.low == scale[0] < worst.high < best.high == scale[1]
    assert worst.high < best.low


@given(st.lists(st.floats(1, 5), min_size=FEWEST_CASES, max_size=40))
def test_the_mean_lies_in_its_interval_and_the_interval_on_the_scale(means: list[float]) -> None:
    assume(len(set(means)) > 1 or means[0] in GUIDE)
    found = case_mean_interval(means, GUIDE)

    assert found is not None
    assert 1 <= found.low <= statistics.fmean(means) + 1e-9
    assert statistics.fmean(means) - 1e-9 <= found.high <= 5


@each("cases", [5, 8, 12, 30, 100])
def test_on_normal_data_the_width_is_at_most_a_tenth_above_students(cases: int) -> None:
    means = [random.Random(cases + at).gauss(3, 1) for at in range(cases)]
    error = scipy_stats.sem(means)

    low, high = scipy_stats.t.interval(0.95, cases - 1, loc=statistics.fmean(means), scale=error)
    found = case_mean_interval(means, UNBOUNDED)

    assert found is not None
    assert 1 <= (found.high - found.low) / (high - low) <= 1.1


@pytest.mark.parametrize("cases", [5, 8, 30])
def test_intervals_over_cases_cover_the_truth_at_least_93_times_in_100(cases: int) -> None:
    rng = random.Random(7)
    normal = skewed = 0
    for _ in range(2_000):
        found = case_mean_interval([rng.gauss(3, 1) for _ in range(cases)], UNBOUNDED)
        assert found is not None
        normal += found.low <= 3 <= found.high
        found = case_mean_interval([rng.betavariate(8, 2) for _ in range(cases)], UNIT)
        assert found is not None
        skewed += found.low <= 0.8 <= found.high

    assert 1_860 <= normal <= 1_960
    assert 1_860 <= skewed <= 1_960


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
    by_case = clustered_share_interval([10, 0, 10, 0, 10, 0], [10] * 6)
    by_sample = clustered_share_interval([1] * 30 + [0] * 30, [1] * 60)

    assert by_case is not None
    assert by_sample is not None
    assert by_case.high - by_case.low > 2 * (by_sample.high - by_sample.low)


def test_five_equal_samples_of_each_case_say_no_more_than_one() -> None:
    assert clustered_share_interval([5, 0, 0, 5, 0, 0, 0], [5] * 7) == clopper_pearson(2, 7)


def test_cases_with_more_samples_weigh_more_in_a_share() -> None:
    found = clustered_share_interval([0] * 50 + [100] * 50, [1] * 50 + [100] * 50)

    assert found is not None
    assert found.low > 0.9


DESIGNS = st.lists(st.integers(1, 12), min_size=FEWEST_CASES, max_size=25)


@given(DESIGNS, st.randoms(use_true_random=False))
def test_one_more_raised_sample_never_lowers_a_bound_wherever_it_is(asked: list[int], rng: random.Random) -> None:
    samples = [case for case, count in enumerate(asked) for _ in range(count)]
    rng.shuffle(samples)
    raised = [0] * len(asked)
    before = clustered_share_interval(raised, asked)
    assert before is not None

    for case in samples:
        raised[case] += 1
        after = clustered_share_interval(raised, asked)
        assert after is not None
        assert before.low <= after.low
        assert before.high <= after.high
        before = after

    assert before.high == 1.0


@given(DESIGNS)
def test_a_flag_that_was_never_raised_is_not_wider_than_one_raised_once(asked: list[int]) -> None:
    never = clustered_share_interval([0] * len(asked), asked)
    once = clustered_share_interval([1] + [0] * (len(asked) - 1), asked)

    assert never is not None
    assert once is not None
    assert never.low == 0.0
    assert never.high - never.low <= once.high - once.low


def test_which_cases_raised_a_flag_does_not_matter() -> None:
    asked = [5, 3, 5, 5, 4, 5]

    assert clustered_share_interval([3, 0, 0, 0, 0, 0], asked) == clustered_share_interval([1, 1, 0, 0, 0, 1], asked)


def test_100_000_cases_take_no_time_and_have_the_intervals_of_the_textbook() -> None:
    rng = random.Random(9)
    values = [rng.uniform(1, 5) for _ in range(100_000)]
    right = sum(value > 2 for value in values)

    found = case_mean_interval(values, GUIDE)
    exact = case_mean_interval([1.0] * right + [0.0] * (100_000 - right), UNIT)

    error = scipy_stats.sem(values)
    expected = scipy_stats.t.interval(0.95, 99_999, loc=statistics.fmean(values), scale=error)
    assert found == pytest.approx(expected, abs=1e-6)
    assert found is not None
    assert found.low < statistics.fmean(values) < found.high
    binomial = scipy_stats.binomtest(right, 100_000).proportion_ci(method="exact")
    assert exact == pytest.approx((binomial.low, binomial.high), abs=1e-9)


@given(COUNTS)
def test_the_exact_interval_is_that_of_scipy(counts: tuple[int, int]) -> None:
    exact = scipy_stats.binomtest(*counts).proportion_ci(method="exact")

    assert clopper_pearson(*counts) == pytest.approx((exact.low, exact.high), abs=1e-9)


# statsmodels.stats.proportion.proportion_confint(…, method="wilson"), and Newcombe 1998, table I
@each(
    ("passed", "total", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
        (5, 5, 0.5655, 1.0),
        (0, 1, 0.0, 0.7935),
    ],
)
def test_wilsons_interval_is_that_of_the_tables(passed: int, total: int, low: float, high: float) -> None:
    assert wilson(passed, total) == pytest.approx((low, high), abs=5e-5)


@given(COUNTS)
def test_wilsons_interval_holds_the_share_and_is_symmetric(counts: tuple[int, int]) -> None:
    passed, total = counts
    low, high = wilson(passed, total)
    other = wilson(total - passed, total)

    assert 0 <= low <= passed / total <= high <= 1
    assert (1 - other.high, 1 - other.low) == pytest.approx((low, high))


@pytest.mark.parametrize(("passed", "total"), [(0, 0), (2, 1), (-1, 3)])
def test_counts_that_are_not_a_proportion_are_refused(passed: int, total: int) -> None:
    with pytest.raises(ValueError, match="is not a proportion"):
        wilson(passed, total)
    with pytest.raises(ValueError, match="is not a proportion"):
        clopper_pearson(passed, total)


def test_a_fraction_of_a_sample_lies_between_its_neighbours() -> None:
    below, between, above = wilson(1, 8), wilson(1.2, 8), wilson(2, 8)

    assert below.low < between.low < above.low
    assert below.high < between.high < above.high
