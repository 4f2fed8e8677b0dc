from __future__ import annotations

import math
import random
import statistics
from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
import pytest
from entries import each
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize
from scipy import stats as scipy_stats

from prompt_evaluator.model.comparison import Method
from prompt_evaluator.stats.exact import mcnemar
from prompt_evaluator.stats.intervals import FEWEST_CASES, Interval
from prompt_evaluator.stats.paired import Paired, PairedMethod, Running, paired_difference, paired_from_running, tango

if TYPE_CHECKING:
    from collections.abc import Sequence

SPAN = 4.0


def excludes_0(found: Paired) -> bool:
    assert found.low is not None
    assert found.high is not None
    return found.low > 0 or found.high < 0


def test_methods_have_the_names_that_comparisons_use() -> None:
    assert get_args(PairedMethod) == get_args(Method)


def test_the_paired_t_test_is_that_of_scipy() -> None:
    rng = random.Random(1)
    for _ in range(300):
        count, shift = rng.choice([5, 6, 10, 40]), rng.choice([0, 0.1, 0.5])
        baseline = [rng.choice([rng.uniform(1, 5), rng.randint(1, 5)]) for _ in range(count)]
        candidate = [min(5.0, max(1.0, score - shift + rng.gauss(0, 0.5))) for score in baseline]

        found = paired_difference([b - a for a, b in zip(baseline, candidate, strict=True)], span=SPAN)

        expected = scipy_stats.ttest_rel(candidate, baseline)
        low, high = expected.confidence_interval()
        assert found.method == "paired_t"
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-7)
        assert (found.low, found.high) == pytest.approx((max(low, -SPAN), min(high, SPAN)), rel=1e-7, abs=1e-9)
        assert found.effect_size == pytest.approx(expected.statistic / math.sqrt(count))
        assert found.count == count


@each("differences", [[], [0.5], [0.5, -0.5], [1.0, 1.0, 1.0, 1.0], [0.0, 1.0, 2.0, 3.0]])
@each("binary", [False, True])
def test_below_five_cases_only_mean_and_spread_are_known(differences: list[float], *, binary: bool) -> None:
    found = paired_difference(differences, span=SPAN, binary_pairs=binary)

    mean = statistics.fmean(differences) if differences else None
    std = statistics.stdev(differences) if len(differences) > 1 else None
    assert (found.mean, found.std) == pytest.approx((mean, std))
    assert (found.low, found.high, found.p_value, found.method, found.effect_size) == (None,) * 5
    assert found.count == len(differences)


@pytest.mark.parametrize(("cases", "half"), [(5, 0.5218), (20, 0.1684), (100, 0.0362)])
def test_cases_that_do_not_differ_leave_room_for_others_that_do(cases: int, half: float) -> None:
    found = paired_difference([0.0] * cases, span=SPAN)

    assert (found.low, found.high) == pytest.approx((-SPAN * half, SPAN * half), abs=SPAN * 6e-5)
    assert found.p_value == 1.0
    assert found.method == "exact_bound"
    assert (found.mean, found.std, found.effect_size) == (0.0, 0.0, None)


def test_cases_that_all_drop_by_the_same_are_tested_by_their_sign() -> None:
    found = paired_difference([-1.0] * 10, span=SPAN)

    assert found.p_value == pytest.approx(2 * 0.5**10)
    assert found.method == "exact_bound"
    assert (found.mean, found.std, found.effect_size) == (-1.0, 0.0, None)
    share = 0.025**0.1
    assert (found.low, found.high) == pytest.approx((-share - SPAN * (1 - share), -share + (1 - share)))


def test_cases_at_the_end_of_the_scale_have_the_exact_interval_of_a_share() -> None:
    found = paired_difference([SPAN] * 12, span=SPAN)

    exact = scipy_stats.binomtest(12, 12).proportion_ci(method="exact")
    assert (found.low, found.high) == pytest.approx((SPAN * (2 * exact.low - 1), SPAN))


def test_rounding_errors_are_no_spread() -> None:
    noisy = paired_difference([0.1 + 0.2 - 0.3, 0.0, 0.3 - 0.1 - 0.2, 0.0, 0.0, 0.0], span=SPAN)
    drop = paired_difference([-0.3, 0.1 - 0.4, 0.2 - 0.5, -0.1 - 0.2, -0.3, -0.3], span=SPAN)

    assert noisy == paired_difference([0.0] * 6, span=SPAN)
    assert drop.method == "exact_bound"
    assert drop.mean == pytest.approx(-0.3)


@pytest.mark.parametrize("spread", [1e-9, 0.01])
def test_cases_that_are_nearly_alike_are_no_surer_than_equal_ones(spread: float) -> None:
    drop = paired_difference([-0.2, -0.2 + spread, -0.2, -0.2, -0.2], span=SPAN)
    both = paired_difference([0.0, spread, 0.0, 0.0, 0.0], span=SPAN)

    assert (drop.method, drop.effect_size) == ("exact_bound", None)
    assert drop.p_value == pytest.approx(2 * 0.5**5)
    assert (both.method, both.p_value) == ("exact_bound", 1.0)
    assert both.low is not None
    assert both.low < -1.0


def test_a_small_true_spread_is_spread() -> None:
    found = paired_difference([0.1, 0.12, 0.1, 0.1, 0.1], span=SPAN)

    assert found.method == "paired_t"
    assert found.std == pytest.approx(0.02 / math.sqrt(5), rel=1e-3)


def test_a_bound_narrower_than_the_spread_gives_way_to_it() -> None:
    found = paired_difference([0.009, -0.0001] * 5_000, span=SPAN)

    assert found.method == "paired_t"


@pytest.mark.parametrize("span", [0, -1, math.nan])
def test_a_scale_without_width_is_refused(span: float) -> None:
    with pytest.raises(ValueError, match="has no differences"):
        paired_difference([0.0] * 5, span=span)


DIFFERENCES = st.lists(st.one_of(st.integers(-4, 4).map(float), st.floats(-4, 4)), min_size=FEWEST_CASES, max_size=40)


@given(st.one_of(DIFFERENCES, st.tuples(st.floats(-4, 4), st.integers(5, 40)).map(lambda pair: [pair[0]] * pair[1])))
def test_p_is_below_5_percent_exactly_if_the_interval_excludes_0(differences: list[float]) -> None:
    found = paired_difference(differences, span=SPAN)

    assert found.p_value is not None
    assert found.low is not None
    assert found.high is not None
    assert found.mean is not None
    assert (found.p_value < 0.05) == excludes_0(found)
    assert -SPAN <= found.low <= found.mean + 1e-9
    assert found.mean - 1e-9 <= found.high <= SPAN
    assert 0 <= found.p_value <= 1
    assert found.high - found.low > 0


@given(DIFFERENCES)
def test_swapping_the_runs_mirrors_the_result(differences: list[float]) -> None:
    one = paired_difference(differences, span=SPAN)
    other = paired_difference([-value for value in differences], span=SPAN)

    assert one.low is not None
    assert one.high is not None
    assert (other.low, other.high) == pytest.approx((-one.high, -one.low))
    assert other.p_value == pytest.approx(one.p_value)


@given(DIFFERENCES)
def test_the_order_of_cases_hardly_matters(differences: list[float]) -> None:
    one, other = (paired_difference(order, span=SPAN) for order in (differences, differences[::-1]))

    assert (one.low, one.high, one.p_value) == pytest.approx((other.low, other.high, other.p_value), abs=1e-9)


def pairs(wins: int, losses: int, count: int, span: float = 1.0) -> list[float]:
    return [span] * wins + [-span] * losses + [0.0] * (count - wins - losses)


@pytest.mark.parametrize("span", [1.0, 4.0, 0.6])
def test_pass_or_fail_is_tested_by_mcnemar(span: float) -> None:
    found = paired_difference(pairs(2, 9, 30, span), span=span, binary_pairs=True)

    assert found.method == "exact_paired"
    assert found.p_value == pytest.approx(scipy_stats.binomtest(2, 11).pvalue)
    assert (found.low, found.high) == pytest.approx(tuple(span * end for end in tango(2, 9, 30)))
    assert found.mean == pytest.approx(-7 / 30 * span)
    assert found.effect_size == pytest.approx(statistics.fmean(pairs(2, 9, 30)) / statistics.stdev(pairs(2, 9, 30)))


def test_differences_that_are_not_of_pass_and_fail_are_tested_by_students_t() -> None:
    values = [*pairs(2, 9, 30, 4.0), 2.0]

    assert paired_difference(values, span=4.0, binary_pairs=True) == paired_difference(values, span=4.0)
    assert paired_difference([1.0, 0, 0, 0, 0], span=4.0, binary_pairs=True).method == "paired_t"


def test_equal_passes_leave_room_for_cases_that_differ() -> None:
    five, hundred = (paired_difference([0.0] * cases, span=1.0, binary_pairs=True) for cases in (5, 100))

    assert (five.low, five.high) == pytest.approx((-0.4345, 0.4345), abs=5e-5)
    assert (hundred.low, hundred.high) == pytest.approx((-0.0370, 0.0370), abs=5e-5)
    assert five.p_value == hundred.p_value == 1.0


def test_five_cases_that_all_fail_now_are_not_enough_and_six_are() -> None:
    five, six = (paired_difference([-1.0] * cases, span=1.0, binary_pairs=True) for cases in (5, 6))

    assert (five.low, five.high) == (-1.0, 0.0)
    assert not excludes_0(five)
    assert excludes_0(six)


@each("cases", [5, 6, 7, 10, 20, 40])
def test_tangos_interval_and_mcnemars_test_agree(cases: int) -> None:
    for wins in range(cases + 1):
        for losses in range(cases + 1 - wins):
            low, high = tango(wins, losses, cases)

            assert (low > 0 or high < 0) == (mcnemar(wins, losses) < 0.05)
            assert -1 <= low <= (wins - losses) / cases <= high <= 1
            assert high - low > 0
            assert (low, high) == pytest.approx(tuple(-end for end in reversed(tango(losses, wins, cases))))


def score(difference: float, wins: int, losses: int, count: int) -> float:
    """The score statistic with the shares that maximise the likelihood, found by search instead of by formula."""

    def unlikely(lost: float) -> float:
        chances = (lost + difference, lost, 1 - 2 * lost - difference)
        return -sum(
            seen * math.log(max(1e-300, chance))
            for seen, chance in zip((wins, losses, count - wins - losses), chances, strict=True)
        )

    low, high = max(0.0, -difference), (1 - difference) / 2
    lost = optimize.minimize_scalar(unlikely, bounds=(low, high), method="bounded", options={"xatol": 1e-12}).x
    return (wins - losses - count * difference) / math.sqrt(count * (2 * lost + difference - difference**2))


@each(("wins", "losses", "count"), [(12, 2, 50), (9, 16, 86), (1, 8, 30), (3, 3, 10), (40, 12, 100)])
def test_at_both_ends_of_tangos_interval_the_score_test_rejects(wins: int, losses: int, count: int) -> None:
    low, high = tango(wins, losses, count)

    assert score(low, wins, losses, count) == pytest.approx(1.959964, abs=1e-4)
    assert score(high, wins, losses, count) == pytest.approx(-1.959964, abs=1e-4)


class Outcome(NamedTuple):
    wins: int
    losses: int
    ties: int
    ways: int
    interval: Interval

    def chance(self, won: float, lost: float) -> float:
        return self.ways * won**self.wins * lost**self.losses * max(0.0, 1 - won - lost) ** self.ties


def outcomes(count: int) -> list[Outcome]:
    return [
        Outcome(
            wins,
            losses,
            count - wins - losses,
            math.comb(count, wins) * math.comb(count - wins, losses),
            tango(wins, losses, count),
        )
        for wins in range(count + 1)
        for losses in range(count + 1 - wins)
    ]


@each("count", [5, 6, 10, 20, 40])
def test_tangos_interval_covers_the_truth_91_times_in_100_at_worst_and_95_on_average(count: int) -> None:
    shares = (0.0, 0.02, 0.1, 0.2, 0.4, 0.5, 0.6, 0.8, 1.0)
    possible = outcomes(count)
    found = [
        sum(
            outcome.chance(won, lost)
            for outcome in possible
            if outcome.interval.low - 1e-12 <= won - lost <= outcome.interval.high + 1e-12
        )
        for won in shares
        for lost in shares
        if won + lost <= 1
    ]

    assert min(found) >= 0.91
    assert statistics.fmean(found) >= 0.95


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50))
def test_running_sums_have_the_mean_and_the_spread_of_the_values(values: list[float]) -> None:
    running = summed(values)

    assert running.count == len(values)
    assert running.mean == pytest.approx(statistics.fmean(values), abs=1e-6)
    assert running.std == pytest.approx(statistics.stdev(values), abs=1e-6)
    assert (running.min, running.max) == (min(values), max(values))
    assert running.wins == sum(value > 0 for value in values)
    assert running.losses == sum(value < 0 for value in values)


def test_a_small_spread_beside_a_large_mean_is_not_lost() -> None:
    assert summed([1e9, 1e9 + 1, 1e9 + 2]).std == pytest.approx(1.0)
    assert summed([3.0]).std is None


def test_differences_summed_up_one_at_a_time_give_the_same_result() -> None:
    values = [0.5, -1.0, 0.25, 0.0, -2.0, -0.5]

    assert paired_from_running(summed(values), span=SPAN) == paired_difference(values, span=SPAN)
    assert paired_from_running(Running(), span=SPAN) == Paired(None, None, 0)


@pytest.mark.parametrize("pieces", [1, 2, 5])
def test_differences_added_many_at_once_give_the_same_result(pieces: int) -> None:
    values = [0.5, -1.0, 0.25, 0.0, -2.0, -0.5, 3.0, 0.125, -0.75, 1.5]
    running = Running()

    for piece in np.array_split(np.array(values), pieces):
        running.extend(piece)

    one_by_one = summed(values)
    assert (running.count, running.wins, running.losses) == (one_by_one.count, one_by_one.wins, one_by_one.losses)
    assert (running.min, running.max) == (-2.0, 3.0)
    assert running.mean == pytest.approx(one_by_one.mean)
    assert running.std == pytest.approx(one_by_one.std)
    assert running.skewness == pytest.approx(one_by_one.skewness)


def test_equal_differences_added_at_once_have_exactly_that_mean_and_no_spread() -> None:
    running = Running()

    for count in (3, 0, 4):
        running.extend(np.full(count, 0.1))

    assert (running.count, running.mean, running.std) == (7, 0.1, 0.0)


def test_100_000_cases_of_pass_and_fail_are_still_recognised() -> None:
    rng = random.Random(9)
    values = rng.choices([0.0, 0.6, -0.6], [0.9, 0.05, 0.05], k=100_000)

    assert paired_difference(values, span=0.6, binary_pairs=True).method == "exact_paired"
    assert paired_difference([*values, 0.3], span=0.6, binary_pairs=True).method == "paired_t"


def summed(values: Sequence[float]) -> Running:
    running = Running()
    for value in values:
        running.add(value)
    return running
