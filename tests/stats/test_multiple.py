from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from prompt_evaluator.stats.multiple import benjamini_hochberg, holm

P_VALUES = st.lists(st.floats(0, 1), max_size=30)


def test_what_is_significant_after_benjamini_and_hochberg_is_what_scipy_says() -> None:
    rng = random.Random(1)
    for _ in range(300):
        p_values = [rng.random() ** rng.choice([1, 3, 8]) for _ in range(rng.randint(1, 40))]
        adjusted = scipy_stats.false_discovery_control(p_values)

        cut = benjamini_hochberg(p_values)

        assert [cut is not None and p <= cut for p in p_values] == [p <= 0.10 for p in adjusted]


def test_a_p_value_above_its_own_limit_counts_if_a_larger_one_keeps_its_limit() -> None:
    assert benjamini_hochberg([0.04, 0.045], level=0.05) == 0.045


def test_nothing_tested_and_nothing_significant_have_no_cut() -> None:
    assert benjamini_hochberg([]) is None
    assert benjamini_hochberg([0.2, 0.9, 0.11]) is None


def test_seven_certain_drops_among_a_thousand_cases_remain() -> None:
    assert benjamini_hochberg([0.0006] * 7 + [0.3 + at / 2_000 for at in range(993)]) == 0.0006


def test_holm_multiplies_by_the_number_of_tests_that_are_left() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.7, 0.6]) == [1.0, 1.0]


def by_definition(p_values: list[float]) -> list[float]:
    """The largest, over all p values up to it, of that value times the number of values that are not smaller."""
    ordered = sorted(p_values)
    steps = [min(1.0, p * (len(ordered) - rank)) for rank, p in enumerate(ordered)]
    return [max(steps[: ordered.index(p) + 1]) for p in p_values]


@given(P_VALUES)
def test_holm_is_its_definition(p_values: list[float]) -> None:
    assert holm(p_values) == pytest.approx(by_definition(p_values))


@given(P_VALUES)
def test_holm_keeps_the_order_and_makes_nothing_more_certain(p_values: list[float]) -> None:
    adjusted = holm(p_values)

    assert all(p <= new <= 1 for p, new in zip(p_values, adjusted, strict=True))
    assert adjusted == [new for _, new in sorted(zip(p_values, adjusted, strict=True))] or p_values != sorted(p_values)
