"""Bounds and p values for one direction."""

from __future__ import annotations

import math
import random

import pytest
from entries import each
from scipy import stats as scipy_stats

from prompt_evaluator.stats.one_sided import one_sided_drop
from prompt_evaluator.stats.paired import Running, tango

SPAN = 4.0


def running(values: list[float]) -> Running:
    made = Running()
    for value in values:
        made.add(value)
    return made


@each("level", [0.05, 0.01, 0.2])
@each("shift", [-0.2, 0.0, 0.3])
def test_symmetric_drops_have_the_bounds_and_the_p_value_of_scipys_one_sided_t_test(level: float, shift: float) -> None:
    rng = random.Random(1)
    half = [rng.gauss(0, 0.4) for _ in range(25)]
    values = [shift + value for value in (*half, *(-value for value in half))]

    found = one_sided_drop(running(values), span=SPAN, level=level)

    greater = scipy_stats.ttest_1samp(values, 0, alternative="greater")
    less = scipy_stats.ttest_1samp(values, 0, alternative="less")
    assert found.p_value == pytest.approx(greater.pvalue, rel=1e-6)
    assert found.paired.low == pytest.approx(greater.confidence_interval(1 - level).low, rel=1e-6)
    assert found.paired.high == pytest.approx(less.confidence_interval(1 - level).high, rel=1e-6)


def test_skewness_is_that_of_scipy() -> None:
    rng = random.Random(2)
    for _ in range(50):
        values = [rng.expovariate(1) + rng.gauss(0, 1) for _ in range(rng.choice([3, 5, 40]))]

        assert running(values).skewness == pytest.approx(scipy_stats.skew(values), rel=1e-9)


def test_a_few_cases_that_lose_everything_widen_the_bound_on_their_side_only() -> None:
    values = [1.0] * 6 + [0.0] * 94
    plain = scipy_stats.ttest_1samp(values, 0, alternative="less").confidence_interval(0.95).high

    found = one_sided_drop(running(values), span=1.0, level=0.05)
    mirrored = one_sided_drop(running([-value for value in values]), span=1.0, level=0.05)

    exact = scipy_stats.beta.ppf(0.95, 7, 94)
    assert found.paired.high is not None
    assert found.paired.high > plain
    assert found.paired.high == pytest.approx(exact, abs=0.01)
    assert mirrored.paired.low == pytest.approx(-found.paired.high)


@pytest.mark.parametrize("drops", [[0.5], [0.5, 0.4], [1.0, 1.0, 1.0, 0.2]])
def test_fewer_than_five_cases_that_differ_say_no_more_than_equal_cases(drops: list[float]) -> None:
    values = [*drops, *[0.0] * (40 - len(drops))]
    equal = one_sided_drop(running([0.0] * 40), span=1.0, level=0.05)

    found = one_sided_drop(running(values), span=1.0, level=0.05)

    assert found.paired.high is not None
    assert equal.paired.high is not None
    assert equal.paired.high == pytest.approx(1 - 0.05 ** (1 / 40))
    assert found.paired.high >= equal.paired.high
    assert found.p_value is not None
    assert found.p_value >= 0.5 ** len(drops)


def test_binary_pairs_have_mcnemars_one_sided_p_value_and_tangos_bounds() -> None:
    values = [1.0] * 9 + [-1.0] * 2 + [0.0] * 29

    found = one_sided_drop(running(values), span=1.0, level=0.05, binary_pairs=True)

    assert found.p_value == pytest.approx(scipy_stats.binomtest(9, 11, alternative="greater").pvalue)
    assert (found.paired.low, found.paired.high) == pytest.approx(tango(9, 2, 40, tail=0.05))


def test_a_wider_level_narrows_tangos_interval() -> None:
    assert tango(9, 2, 40, tail=0.05).low > tango(9, 2, 40).low
    assert tango(9, 2, 40, tail=0.05).high < tango(9, 2, 40).high


def _rules_out(lost: int, won: int, count: int, margin: float) -> bool:
    made = running([1.0] * lost + [-1.0] * won + [0.0] * (count - lost - won))
    high = one_sided_drop(made, span=1.0, level=0.05, binary_pairs=True).paired.high
    return high is not None and high < margin


@pytest.mark.parametrize(("losses", "exact"), [(0, 1 - 0.05 ** (1 / 60)), (3, scipy_stats.beta.ppf(0.95, 4, 57))])
def test_binary_pairs_that_all_change_in_one_direction_have_at_least_the_exact_bound(losses: int, exact: float) -> None:
    found = one_sided_drop(running([1.0] * losses + [0.0] * (60 - losses)), span=1.0, level=0.05, binary_pairs=True)

    assert found.paired.high is not None
    assert found.paired.high >= exact - 1e-9


@pytest.mark.parametrize(("count", "margin"), [(40, 0.1), (52, 0.05)])
def test_a_drop_of_the_margin_passes_in_at_most_5_percent_and_a_half_of_binary_runs(count: int, margin: float) -> None:
    passing = [
        (lost, won, count - lost - won)
        for lost in range(count + 1)
        for won in range(count + 1 - lost)
        if (lost - won) / count < margin and _rules_out(lost, won, count, margin)
    ]

    for discordant in (margin, margin + 0.05, 0.3):
        losses, wins = (discordant + margin) / 2, (discordant - margin) / 2
        chances = scipy_stats.multinomial.pmf(passing, count, [losses, wins, 1 - losses - wins])
        assert chances.sum() <= 0.055


def test_the_same_data_always_have_the_same_answer() -> None:
    values = [math.sin(at) for at in range(30)]

    assert one_sided_drop(running(values), span=2, level=0.05) == one_sided_drop(running(values), span=2, level=0.05)
