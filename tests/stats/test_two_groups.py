from __future__ import annotations

import random
from statistics import fmean, stdev

import pytest
from scipy import stats as scipy_stats

from prompt_evaluator.stats.two_groups import Group, means_differ, pooled, welch, without


def group(values: list[float]) -> Group:
    return Group(fmean(values), stdev(values) if len(values) > 1 else 0.0, len(values))


def drawn(rng: random.Random, fewest: int = 2) -> list[float]:
    return [rng.gauss(rng.choice([0, 0.5]), rng.choice([0.2, 1, 3])) for _ in range(rng.randint(fewest, 30))]


def test_both_tests_agree_with_scipy() -> None:
    rng = random.Random(1)
    for _ in range(60):
        one, other = drawn(rng), drawn(rng)

        assert welch(group(one), group(other)) == pytest.approx(
            scipy_stats.ttest_ind(one, other, equal_var=False).pvalue, abs=1e-9
        )
        assert pooled(group(one), group(other)) == pytest.approx(scipy_stats.ttest_ind(one, other).pvalue, abs=1e-9)


def test_a_few_cases_without_spread_are_not_taken_for_certain() -> None:
    five_of_five, nine_in_ten = group([1.0] * 5), group([1.0] * 90 + [0.0] * 10)

    alone = welch(five_of_five, nine_in_ten)
    assert alone is not None
    assert alone < 0.01
    together = means_differ(five_of_five, nine_in_ten)
    assert together is not None
    assert together > 0.3


def test_two_groups_that_do_not_vary_differ_if_there_are_enough_values() -> None:
    assert means_differ(Group(1.0, 0.0, 5), Group(1.0, 0.0, 5)) == 1.0
    assert means_differ(Group(1.0, 0.0, 2), Group(0.0, 0.0, 2)) == pytest.approx(1 / 3)
    assert means_differ(Group(1.0, 0.0, 5), Group(0.0, 0.0, 5)) == pytest.approx(2 / 252)


def test_a_single_value_says_nothing() -> None:
    assert means_differ(Group(1.0, 0.0, 1), Group(0.0, 1.0, 30)) is None
    assert welch(Group(1.0, 0.0, 1), Group(0.0, 1.0, 30)) is None
    assert pooled(Group(1.0, 0.0, 1), Group(0.0, 1.0, 30)) is None


def test_the_rest_of_a_group_is_what_is_left_without_a_part() -> None:
    rng = random.Random(3)
    for _ in range(60):
        part, rest = drawn(rng), drawn(rng)

        left = without(group(part + rest), group(part))

        assert left is not None
        assert left == pytest.approx(group(rest))


def test_a_rest_without_spread_has_exactly_none() -> None:
    left = without(group([0.1] * 7 + [0.7, 0.2]), group([0.7, 0.2]))

    assert left is not None
    assert left.std == 0.0
    assert without(group([1.0, 2.0]), group([1.0, 2.0])) is None
