"""Against scipy, which is too slow to load for a command."""

from __future__ import annotations

import math
import random

import pytest
from entries import each
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy import stats as scipy_stats

from prompt_evaluator.stats.distributions import (
    beta_quantile,
    incomplete_beta,
    normal_quantile,
    student_t,
    t_quantile,
    t_two_sided,
)

SHAPES = st.floats(0.1, 5_000)


@given(st.floats(0, 1), SHAPES, SHAPES)
def test_the_incomplete_beta_function_is_that_of_scipy(x: float, a: float, b: float) -> None:
    assert incomplete_beta(x, a, b) == pytest.approx(special.betainc(a, b, x), abs=1e-9)


@given(st.floats(0.001, 0.999), SHAPES, SHAPES)
def test_a_quantile_has_its_chance(chance: float, a: float, b: float) -> None:
    found = beta_quantile(chance, a, b)

    assert special.betainc(a, b, max(0.0, found * (1 - 1e-9))) <= chance + 1e-9
    assert special.betainc(a, b, min(1.0, found * (1 + 1e-9))) >= chance - 1e-9


@each("a", [0.5, 1, 3, 50, 99_999, 50_000])
@each("b", [0.5, 1, 2, 12, 1_000, 50_000])
def test_quantiles_are_those_of_scipy(a: float, b: float) -> None:
    for chance in (0.025, 0.5, 0.975):
        assert beta_quantile(chance, a, b) == pytest.approx(scipy_stats.beta.ppf(chance, a, b), rel=1e-8)


@each("degrees", [*range(1, 35), 99, 999, 99_999, 999_999])
def test_students_t_is_that_of_scipy(degrees: int) -> None:
    assert student_t(degrees) == pytest.approx(scipy_stats.t.ppf(0.975, degrees), rel=1e-9)


@each(("x", "a", "b"), [(-0.1, 1, 1), (1.1, 1, 1), (0.5, 0, 1), (0.5, 1, -1)])
def test_values_outside_the_beta_distribution_are_refused(x: float, a: float, b: float) -> None:
    with pytest.raises(ValueError, match="is not defined at"):
        incomplete_beta(x, a, b)


def test_p_values_of_students_t_are_those_of_scipy() -> None:
    rng = random.Random(1)
    for _ in range(300):
        t, degrees = rng.gauss(0, 1) * 10 ** rng.uniform(-3, 2), rng.choice([1, 2, 4, 9, 29, 99.5, 5_000, 99_999])

        assert t_two_sided(t, degrees) == pytest.approx(2 * scipy_stats.t.sf(abs(t), degrees), rel=1e-8, abs=1e-300)


def test_a_t_without_end_has_no_chance() -> None:
    assert t_two_sided(math.inf, 4) == t_two_sided(-math.inf, 4) == 0
    assert t_two_sided(0, 4) == 1


@each("degrees", [1, 2, 4, 7.5, 29, 400, 99_999])
@each("chance", [1e-9, 0.001, 0.025, 0.2, 0.4999, 0.5, 0.5001, 0.8, 0.975, 0.9999, 1 - 1e-9])
def test_any_quantile_of_students_t_is_that_of_scipy(chance: float, degrees: float) -> None:
    assert t_quantile(chance, degrees) == pytest.approx(scipy_stats.t.ppf(chance, degrees), rel=1e-7, abs=1e-12)


@given(st.floats(1e-12, 1 - 1e-12))
def test_normal_quantiles_are_those_of_scipy(chance: float) -> None:
    assert normal_quantile(chance) == pytest.approx(scipy_stats.norm.ppf(chance), rel=1e-9, abs=1e-12)


@each("chance", [0, 1, -0.1, 1.5, math.nan])
def test_a_quantile_of_no_probability_is_refused(chance: float) -> None:
    with pytest.raises(ValueError, match="is not a probability between 0 and 1"):
        t_quantile(chance, 4)
    with pytest.raises(ValueError, match="is not a probability between 0 and 1"):
        normal_quantile(chance)


def test_the_incomplete_beta_function_ends_where_both_sides_converge_equally_fast() -> None:
    for step in range(-200, 201):
        degrees = 1 + step * 2**-52

        assert t_two_sided(1.0, degrees) == pytest.approx(0.5)
        assert incomplete_beta((degrees + 1) / (degrees + 3), degrees, 1) == pytest.approx(0.5, abs=0.001)
