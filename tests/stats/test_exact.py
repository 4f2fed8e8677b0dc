"""Against scipy, and against counting every permutation."""

from __future__ import annotations

import random
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from entries import each
from scipy import stats as scipy_stats

from prompt_evaluator.stats.exact import binomial_two_sided, fisher_less, mcnemar, permutation_less, sign_test

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


@each("total", [1, 2, 3, 4, 5, 10, 37, 100, 999, 1_000])
def test_the_two_sided_binomial_test_is_that_of_scipy(total: int) -> None:
    for successes in {round(total * share / 40) for share in range(41)}:
        expected = scipy_stats.binomtest(successes, total).pvalue

        assert binomial_two_sided(successes, total) == pytest.approx(expected, rel=1e-9)
        assert sign_test(successes, total) == mcnemar(successes, total - successes)


def test_five_of_five_are_not_yet_significant_and_six_of_six_are() -> None:
    assert mcnemar(0, 5) == mcnemar(5, 0) == pytest.approx(0.0625)
    assert mcnemar(0, 6) == pytest.approx(0.03125)


def test_nothing_and_a_draw_show_nothing() -> None:
    assert binomial_two_sided(0, 0) == mcnemar(0, 0) == mcnemar(7, 7) == 1.0
    assert mcnemar(8, 7) == 1.0


def test_a_million_pairs_are_counted_too() -> None:
    expected = scipy_stats.binomtest(498_000, 1_000_000).pvalue

    assert mcnemar(498_000, 502_000) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("successes", "total"), [(-1, 3), (4, 3), (0, -1)])
def test_more_successes_than_trials_are_refused(successes: int, total: int) -> None:
    with pytest.raises(ValueError, match="is not a proportion"):
        binomial_two_sided(successes, total)


def test_fishers_test_is_that_of_scipy() -> None:
    rng = random.Random(2)
    for _ in range(300):
        n, m = rng.randint(1, 80), rng.randint(1, 80)
        k, l = rng.randint(0, n), rng.randint(0, m)  # noqa: E741 - the usual names
        expected = scipy_stats.fisher_exact([[k, n - k], [l, m - l]], alternative="greater").pvalue

        assert fisher_less(k, n, l, m) == pytest.approx(expected, rel=1e-9, abs=1e-14)


def test_five_passes_of_five_against_one_are_a_drop_and_against_two_are_not_yet() -> None:
    assert fisher_less(5, 5, 1, 5) == pytest.approx(0.02381, abs=5e-6)
    assert fisher_less(5, 5, 2, 5) == pytest.approx(0.08333, abs=5e-6)


def test_a_gain_is_not_a_drop() -> None:
    assert fisher_less(1, 5, 5, 5) == 1.0
    assert fisher_less(0, 5, 0, 5) == fisher_less(5, 5, 5, 5) == 1.0
    assert fisher_less(0, 0, 3, 5) == fisher_less(3, 5, 0, 0) == 1.0


@each(
    ("k", "n", "l", "m"),
    [
        (50_000, 100_000, 49_500, 100_000),
        (50_000, 100_000, 50_500, 100_000),
        (100_000, 100_000, 99_990, 100_000),
        (900_000, 1_000_000, 89, 100),
        (3, 1_000_000, 0, 1_000_000),
    ],
)
def test_large_counts_do_not_overflow(k: int, n: int, l: int, m: int) -> None:  # noqa: E741 - the usual names
    expected = scipy_stats.hypergeom.cdf(l, n + m, k + l, m)

    assert fisher_less(k, n, l, m) == pytest.approx(expected, rel=1e-5)


@each(("k", "n", "l", "m"), [(6, 5, 0, 5), (0, 5, 6, 5), (-1, 5, 0, 5), (0, 5, -1, 5)])
def test_counts_that_are_no_proportions_are_refused(k: int, n: int, l: int, m: int) -> None:  # noqa: E741
    with pytest.raises(ValueError, match="are not proportions"):
        fisher_less(k, n, l, m)


def by_counting(first: Sequence[float], second: Sequence[float]) -> float:
    """Every way to divide the values, one by one."""
    pool = [*first, *second]
    low, high = min(pool), max(pool)
    totals = [sum(chosen) for chosen in combinations(pool, len(second))]
    return sum(total <= sum(second) + 1e-9 * (high - low) for total in totals) / len(totals)


SCORES: dict[str, Callable[[random.Random], float]] = {
    "whole": lambda rng: rng.randint(1, 5),
    "halves": lambda rng: rng.randint(2, 10) / 2,
    "decimals": lambda rng: round(rng.random(), 1),
    "hundredths": lambda rng: round(rng.random(), 2),
    "percent": lambda rng: rng.randint(0, 100),
    "thirds": lambda rng: rng.randint(0, 3) / 3,
    "sums of tenths": lambda rng: sum([0.1] * rng.randint(0, 10)),
    "any": lambda rng: rng.random(),
    "tiny": lambda rng: rng.random() * 1e-12,
    "huge": lambda rng: rng.randint(-4, 4) * 1e15,
    "0 or 1": lambda rng: float(rng.random() < 0.7),
}


@each("kind", SCORES)
def test_the_permutation_test_counts_every_way_to_divide_the_values(kind: str) -> None:
    rng = random.Random(kind)
    for _ in range(200):
        first, second = ([SCORES[kind](rng) for _ in range(rng.randint(1, 6))] for _ in range(2))

        assert permutation_less(first, second) == pytest.approx(by_counting(first, second), rel=1e-9)


def test_the_permutation_test_is_that_of_scipy() -> None:
    rng = random.Random(3)
    for _ in range(20):
        first, second = ([rng.randint(1, 5) for _ in range(5)] for _ in range(2))
        found = scipy_stats.permutation_test(
            (second, first), lambda a, b, axis: a.mean(axis) - b.mean(axis), alternative="less", vectorized=True
        )

        assert permutation_less(first, second) == pytest.approx(found.pvalue)


def test_for_pass_and_fail_the_permutation_test_is_fishers() -> None:
    assert permutation_less([1] * 5, [1, 0, 0, 0, 0]) == fisher_less(5, 5, 1, 5)
    assert permutation_less([100.0] * 400 + [20.0] * 100, [100.0] * 350 + [20.0] * 150) == fisher_less(
        400, 500, 350, 500
    )


def test_equal_scores_and_no_scores_show_no_drop() -> None:
    assert permutation_less([4, 4, 4], [4, 4, 4]) == 1.0
    assert permutation_less([], [1, 2]) == permutation_less([1, 2], []) == 1.0


def test_the_order_of_samples_does_not_matter() -> None:
    assert permutation_less([5, 4, 4, 3], [1, 3, 2, 4]) == permutation_less([3, 4, 5, 4], [4, 3, 2, 1])


def test_100_scores_on_a_scale_are_counted_exactly() -> None:
    rng = random.Random(4)
    first = [rng.randint(1, 5) for _ in range(100)]
    second = [max(1, rng.randint(1, 5) - (rng.random() < 0.4)) for _ in range(100)]
    ranked = scipy_stats.ttest_ind(second, first, alternative="less").pvalue

    found = permutation_less(first, second)

    assert found == pytest.approx(ranked, rel=0.1)
    assert 0 < permutation_less([5] * 60 + [4] * 40, [1] * 60 + [2] * 40) < 1e-50


def test_many_scores_on_no_grid_are_drawn_and_give_the_same_p_each_time() -> None:
    rng = random.Random(5)
    first, second = [rng.random() for _ in range(40)], [rng.random() - 0.05 for _ in range(40)]
    expected = scipy_stats.ttest_ind(second, first, alternative="less").pvalue

    found = permutation_less(first, second)

    assert found == pytest.approx(expected, rel=0.3)
    assert found == permutation_less(second=tuple(second), first=tuple(first))
    assert permutation_less([value + 9.123 for value in first], second) == 1 / 10_000
    assert permutation_less(second, first) > 0.9


def test_one_grouping_in_twenty_is_exactly_5_percent() -> None:
    assert fisher_less(3, 3, 0, 3) == 0.05
    assert permutation_less([4.0, 4.0, 4.0], [3.0, 3.0, 3.0]) == 0.05
