from __future__ import annotations

from random import Random

import pytest
from scipy.stats import binomtest

from prompt_evaluator.compare.pairwise import pairwise_result, strengths
from prompt_evaluator.model.pairwise import Pair, PairwiseResult

WON, LOST, TIED = Pair(1, 1), Pair(0, 0), Pair(0.5, 0.5)
FIRST, SECOND = Pair(1, 0), Pair(0, 1)
"""The judge prefers this place, whichever answer is there."""
ABOUT = {
    "baseline_model": "x/a",
    "candidate_model": "x/b",
    "run_id": "p",
    "status": "completed",
    "judge_model": "judge/one",
    "synthetic": False,
}


def result(*cases: list[Pair], baseline: str = "a", candidate: str = "b") -> PairwiseResult:
    return pairwise_result(cases, baseline=baseline, candidate=candidate, **ABOUT)


def test_a_win_a_loss_and_a_tie_are_one_zero_and_a_half() -> None:
    found = result([WON], [LOST], [TIED], [WON])

    assert (found.wins, found.losses, found.ties) == (2, 1, 1)
    assert (found.case_wins, found.case_losses, found.case_ties) == (2, 1, 1)
    assert found.win_rate == 0.625


@pytest.mark.parametrize("pair", [FIRST, SECOND, Pair(1, 0.5), Pair(0.5, 0), Pair(0.5, 1), Pair(0, 0.5)])
def test_orders_that_disagree_are_a_tie(pair: Pair) -> None:
    found = result([pair])

    assert (found.ties, found.disagreements, found.win_rate) == (1, 1, 0.5)


def test_a_case_counts_once_however_many_pairs_it_has() -> None:
    found = result([WON] * 9, [LOST])

    assert found.win_rate == 0.5
    assert (found.wins, found.losses, found.case_wins, found.case_losses) == (9, 1, 1, 1)


def test_a_case_is_won_if_more_than_half_of_it_is() -> None:
    found = result([WON, WON, LOST], [WON, LOST], [WON, TIED, TIED])

    assert (found.case_wins, found.case_losses, found.case_ties) == (2, 0, 1)


@pytest.mark.parametrize("pair", [Pair(None, 1), Pair(0, None), Pair(None, None)])
def test_a_pair_that_could_not_be_judged_counts_for_nobody(pair: Pair) -> None:
    found = result([WON, pair], [pair])

    assert (found.pairs, found.wins, found.losses, found.ties, found.unjudged) == (1, 1, 0, 0, 2)
    assert (found.cases, found.win_rate) == (1, 1.0)


def test_a_pair_without_an_answer_is_counted_apart() -> None:
    found = result([WON, Pair(None, None, has_answers=False)])

    assert (found.missing, found.unjudged, found.pairs) == (1, 0, 1)


def test_without_any_judged_pair_nothing_is_claimed() -> None:
    found = result([Pair(None, None)])

    assert (found.win_rate, found.low, found.p_value, found.verdict) == (None, None, None, "inconclusive")
    assert found.position_bias.first_share is None
    assert not found.position_bias.large


def test_the_sign_test_agrees_with_scipy() -> None:
    rng = Random(1)
    for _ in range(300):
        won, lost, tied = rng.randint(0, 40), rng.randint(0, 40), rng.randint(0, 5)
        found = result(*[[WON]] * won, *[[LOST]] * lost, *[[TIED]] * tied)

        expected = binomtest(won, won + lost).pvalue if won + lost else None
        assert found.p_value == (pytest.approx(expected, abs=1e-12) if expected is not None else None)


def test_fewer_than_five_cases_have_no_interval() -> None:
    assert result(*[[WON]] * 4).low is None
    assert result(*[[WON]] * 5).low is not None


def test_the_interval_covers_a_known_win_rate() -> None:
    rng, covered, rounds = Random(2), 0, 400
    for _ in range(rounds):
        cases = [[rng.choices((WON, LOST, TIED), (5, 2, 3))[0] for _ in range(3)] for _ in range(30)]
        found = result(*cases)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.65 <= found.high

    assert covered / rounds >= 0.92


@pytest.mark.parametrize(
    ("cases", "verdict"),
    [
        ([[WON]] * 12 + [[LOST]], "better"),
        ([[LOST]] * 12 + [[WON]], "worse"),
        ([[WON]] * 3 + [[LOST]] * 2, "inconclusive"),
        ([[WON, LOST, TIED, TIED]] * 200 + [[WON], [LOST]], "no_difference"),
        ([[TIED]] * 50, "inconclusive"),
    ],
)
def test_the_verdict_follows_the_sign_test(cases: list[list[Pair]], verdict: str) -> None:
    assert result(*cases).verdict == verdict


def test_a_judge_that_always_prefers_the_first_place_has_a_position_bias_of_all_pairs() -> None:
    found = result(*[[FIRST, FIRST]] * 10)

    bias = found.position_bias
    assert (found.ties, found.win_rate) == (20, 0.5)
    assert (bias.pairs, bias.first, bias.second, bias.first_share, bias.second_share) == (20, 20, 0, 1.0, 0.0)
    assert bias.first_low is not None
    assert bias.first_low > 0.6
    assert bias.large


def test_the_second_place_can_be_preferred_too() -> None:
    bias = result(*[[SECOND]] * 6, *[[WON]] * 6).position_bias

    assert (bias.first, bias.second, bias.second_share, bias.large) == (0, 6, 0.5, True)


def test_a_few_pairs_decided_by_their_place_are_not_called_large() -> None:
    assert not result(*[[FIRST]] * 2, *[[WON]] * 18).position_bias.large
    assert not result([FIRST], [WON], [WON]).position_bias.large
    assert result([FIRST], [FIRST], [WON]).position_bias.large


def test_the_same_answers_say_nothing_about_position_bias() -> None:
    same = Pair(0.5, 0.5, is_same=True)

    found = result(*[[FIRST, same]] * 5)

    assert (found.same, found.ties, found.disagreements) == (5, 10, 5)
    assert (found.position_bias.pairs, found.position_bias.first_share) == (5, 1.0)


def _against(baseline: str, candidate: str, wins: int, losses: int) -> PairwiseResult:
    return result(*[[WON]] * wins, *[[LOST]] * losses, baseline=baseline, candidate=candidate)


def test_strengths_are_in_the_order_of_the_wins() -> None:
    results = [_against("a", "b", 16, 4), _against("a", "c", 19, 1), _against("b", "c", 14, 6)]

    found = strengths(("a", "b", "c"), results)

    assert found is not None
    assert [each.run_id for each in found] == ["c", "b", "a"]
    assert all(each.low < each.strength < each.high for each in found)
    assert found[0].win_chance > 0.5 > found[-1].win_chance
    assert sum(each.strength for each in found) == pytest.approx(0)


def test_more_cases_make_strengths_more_certain_but_more_pairs_of_a_case_do_not() -> None:
    def width(cases: int, pairs: int) -> float:
        results = [
            result(*[[WON] * pairs] * cases, *[[LOST] * pairs] * cases, baseline=one, candidate=two)
            for one, two in (("a", "b"), ("a", "c"), ("b", "c"))
        ]
        found = strengths(("a", "b", "c"), results)
        assert found is not None
        return found[0].high - found[0].low

    assert width(10, 1) == pytest.approx(width(10, 5))
    assert width(40, 1) < 0.6 * width(10, 1)


def test_runs_that_were_never_compared_have_no_strengths() -> None:
    assert strengths(("a", "b", "c"), [_against("a", "b", 3, 1)]) is None
    assert strengths(("a", "b", "c"), [_against("a", "b", 3, 1), _against("a", "c", 0, 0)]) is None
