from __future__ import annotations

import math
import random
from itertools import combinations, pairwise

import numpy as np
import pytest
from scipy import optimize

from prompt_evaluator.stats.bradley_terry import bradley_terry

Wins = dict[tuple[str, str], float]


def played(strengths: dict[str, float], games: int, rng: random.Random) -> Wins:
    wins: Wins = {}
    for one, two in combinations(strengths, 2):
        chance = 1 / (1 + math.exp(strengths[two] - strengths[one]))
        won = sum(rng.random() < chance for _ in range(games))
        wins |= {(one, two): won, (two, one): games - won}
    return wins


def by_search(wins: Wins, names: list[str]) -> dict[str, float]:
    """Maximise the likelihood, with half a win each way added to each pair that met, directly."""
    met = {frozenset(pair) for pair, count in wins.items() if count}
    full = {(a, b): wins.get((a, b), 0) + 0.5 for pair in met for a in pair for b in pair if a != b}

    def unlikely(values: np.ndarray) -> float:
        at = dict(zip(names, values, strict=True))
        return float(
            sum(count * np.logaddexp(0, at[b] - at[a]) for (a, b), count in full.items()) + 0.5 * values.sum() ** 2
        )

    found = optimize.minimize(unlikely, np.zeros(len(names)), tol=1e-12).x
    return dict(zip(names, found - found.mean(), strict=True))


def test_strengths_are_those_that_a_direct_search_finds() -> None:
    rng = random.Random(1)
    for _ in range(25):
        names = [f"model {at}" for at in range(rng.randint(2, 6))]
        wins = played({name: rng.gauss(0, 1.5) for name in names}, rng.randint(1, 30), rng)
        expected = by_search(wins, names)

        found = bradley_terry(wins)

        assert {name: strength.value for name, strength in found.items()} == pytest.approx(expected, abs=1e-4)
        assert math.fsum(strength.value for strength in found.values()) == pytest.approx(0, abs=1e-9)


def test_standard_errors_are_those_of_the_information_matrix() -> None:
    wins = {("a", "b"): 8, ("b", "a"): 2, ("b", "c"): 7, ("c", "b"): 3, ("c", "d"): 4, ("d", "c"): 6.5}
    found = bradley_terry(wins)
    names = sorted(found)
    information = np.zeros((4, 4))
    for (one, two), games in {(0, 1): 11, (1, 2): 11, (2, 3): 11.5}.items():
        chance = 1 / (1 + math.exp(found[names[two]].value - found[names[one]].value))
        edge = np.zeros(4)
        edge[one], edge[two] = 1, -1
        information += games * chance * (1 - chance) * np.outer(edge, edge)
    errors = np.sqrt(np.diag(np.linalg.pinv(information)))

    for name, error in zip(names, errors, strict=True):
        strength = found[name]
        assert (strength.low, strength.high) == pytest.approx(
            (strength.value - 1.959964 * error, strength.value + 1.959964 * error)
        )


def test_two_have_the_odds_of_their_wins() -> None:
    found = bradley_terry({("a", "b"): 30, ("b", "a"): 10})

    assert found["a"].value - found["b"].value == pytest.approx(math.log(30.5 / 10.5))
    assert found["a"].win_chance + found["b"].win_chance == pytest.approx(1)


def test_one_who_never_lost_has_a_finite_strength() -> None:
    found = bradley_terry({("best", "good"): 20, ("best", "bad"): 20, ("good", "bad"): 15, ("bad", "good"): 5})

    assert list(found) == ["best", "good", "bad"]
    assert 0 < found["best"].low < found["best"].value < found["best"].high < 10
    assert 0.9 < found["best"].win_chance < 1


def test_ties_make_all_equal() -> None:
    found = bradley_terry({pair: 2.5 for one, two in combinations("abc", 2) for pair in ((one, two), (two, one))})

    assert [strength.value for strength in found.values()] == pytest.approx([0, 0, 0], abs=1e-9)
    assert all(strength.win_chance == pytest.approx(0.5) for strength in found.values())
    assert list(found) == ["a", "b", "c"]


def test_a_long_chain_of_comparisons_is_fitted() -> None:
    names = [f"{at:02}" for at in range(20)]
    wins = dict.fromkeys(pairwise(names), 9.5)

    found = bradley_terry(wins)

    steps = [found[one].value - found[two].value for one, two in pairwise(names)]
    assert steps == pytest.approx([math.log(20)] * 19, abs=1e-6)


def test_more_games_make_the_interval_narrower() -> None:
    few, many = (bradley_terry({("a", "b"): 6 * times, ("b", "a"): 4 * times})["a"] for times in (1, 100))

    assert many.high - many.low < (few.high - few.low) / 8
    assert few.low < 0 < many.low


@pytest.mark.parametrize("games", [5, 20])
def test_intervals_cover_the_true_strength_at_least_93_times_in_100(games: int) -> None:
    rng, true = random.Random(games), {"a": 0.8, "b": 0.2, "c": -0.1, "d": -0.9}
    covered = 0
    for _ in range(250):
        found = bradley_terry(played(true, games, rng))
        covered += sum(found[name].low <= value <= found[name].high for name, value in true.items())

    assert covered >= 930


def test_those_that_nothing_links_cannot_be_ranked() -> None:
    with pytest.raises(ValueError, match=r"No comparison links 'a' with 'c', directly or through others\. Compare"):
        bradley_terry({("a", "b"): 3, ("c", "d"): 3})
    with pytest.raises(ValueError, match="No comparison links 'a' with 'b'"):
        bradley_terry({("a", "b"): 0})


@pytest.mark.parametrize(("pair", "count"), [(("a", "a"), 1), (("a", "b"), -1), (("a", "b"), math.inf)])
def test_wins_that_cannot_be_are_refused(pair: tuple[str, str], count: float) -> None:
    with pytest.raises(ValueError, match="cannot have beaten"):
        bradley_terry({("a", "b"): 1, pair: count})


def test_without_comparisons_there_are_no_strengths() -> None:
    assert bradley_terry({}) == {}
