from __future__ import annotations

import math
import random

import pytest
from entries import each
from scipy import stats as scipy_stats

from prompt_evaluator.stats.paired import paired_difference
from prompt_evaluator.stats.power import cases_needed, detectable, samples_factor


def power_of(difference: float, std: float, count: int) -> float:
    """By the noncentral t distribution."""
    critical = scipy_stats.t.ppf(0.975, count - 1)
    return float(scipy_stats.nct.sf(critical, count - 1, difference / std * math.sqrt(count)))


@each("count", [5, 6, 8, 10, 20, 50, 100, 1_000])
@each("std", [0.2, 1.0, 30.0])
def test_a_detectable_difference_is_shown_four_times_in_five(count: int, std: float) -> None:
    found = detectable(std, count)

    assert found is not None
    assert power_of(found * 0.98, std, count) < 0.8 < power_of(found * 1.02, std, count)


def test_other_powers_detect_other_differences() -> None:
    found = [detectable(1.0, 40, power=power) for power in (0.5, 0.8, 0.95)]

    assert found == sorted(found, key=lambda value: value or 0)
    assert power_of(found[2] or 0, 1.0, 40) == pytest.approx(0.95, abs=0.01)


@each(("std", "count"), [(1.0, 0), (1.0, 1), (1.0, 4), (0.0, 50), (None, 50)])
def test_few_cases_and_cases_without_spread_detect_nothing_that_can_be_said(std: float | None, count: int) -> None:
    assert detectable(std, count) is None


def test_a_detectable_difference_is_really_shown_about_four_times_in_five() -> None:
    rng, shift = random.Random(1), detectable(0.8, 30)
    assert shift is not None
    shown = 0
    for _ in range(1_000):
        found = paired_difference([rng.gauss(-shift, 0.8) for _ in range(30)], span=100.0)
        assert found.p_value is not None
        shown += found.p_value < 0.05

    assert 760 <= shown <= 840


@each("std", [0.01, 0.3, 1.0, 2.5])
@each("difference", [0.02, 0.1, 0.5, 3.0])
def test_the_cases_needed_are_the_fewest_that_detect_the_difference(std: float, difference: float) -> None:
    count = cases_needed(std, difference)

    assert count is not None
    assert (detectable(std, count) or 0) <= difference
    assert count == 5 or (detectable(std, count - 1) or 0) > difference
    assert cases_needed(std, -difference) == count


def test_a_textbook_number_of_cases() -> None:
    assert cases_needed(1.0, 0.5) == 34  # Cohen 1988; G*Power: 33.4


def test_huge_numbers_of_cases_are_found_at_once() -> None:
    assert cases_needed(1.0, 1e-5) == pytest.approx(7.849e10, rel=1e-3)


@pytest.mark.parametrize(("std", "difference"), [(1.0, 0.0), (0.0, 0.0), (1.0, 1e-300)])
def test_no_number_of_cases_shows_no_difference(std: float, difference: float) -> None:
    assert cases_needed(std, difference) is None


def test_cases_without_spread_need_no_more_than_five() -> None:
    assert cases_needed(0.0, 0.1) == 5


def test_with_the_factor_of_samples_the_difference_is_just_detectable() -> None:
    rng = random.Random(2)
    grown = 0
    for _ in range(500):
        between, within, count, difference = rng.random(), rng.random() * 3, rng.randint(5, 200), rng.uniform(0.05, 1)
        factor = samples_factor(between, within, count, difference)
        if factor is None:
            assert (detectable(math.sqrt(between), count) or 0) >= difference
        elif factor == 1.0:
            assert (detectable(math.sqrt(between + within), count) or 0) <= difference
        else:
            grown += 1
            assert factor > 1
            assert detectable(math.sqrt(between + within / factor), count) == pytest.approx(difference)

    assert grown > 20


def test_no_number_of_samples_makes_up_for_few_cases_or_for_no_difference() -> None:
    assert samples_factor(0.0, 1.0, 4, 0.5) is None
    assert samples_factor(1.0, 1.0, 10, 0.1) is None
    assert samples_factor(0.0, 1.0, 10, 0.0) is None
    assert samples_factor(0.0, 0.0, 10, 0.0) is None


def test_an_estimate_of_variance_below_0_counts_as_0() -> None:
    assert samples_factor(-0.3, 2.0, 20, 0.1) == samples_factor(0.0, 2.0, 20, 0.1)
