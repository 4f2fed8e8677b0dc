"""Strengths of more than two that were compared in pairs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

_PRIOR = 0.5
"""Wins each way added to each pair that met, so that one who never lost has a finite strength (Haldane 1956)."""
_NORMAL = 1.959964
_MOST_ROUNDS = 100_000
_CLOSE = 1e-12


class Strength(NamedTuple):
    """How strong one is among all; strengths have the mean 0."""

    value: float
    """Logarithm of the odds against one of average strength."""
    low: float
    high: float
    """95 % interval, from the curvature of the likelihood."""
    win_chance: float
    """Probability of beating one of average strength."""


def bradley_terry(wins: Mapping[tuple[str, str], float]) -> dict[str, Strength]:
    """Fit the Bradley-Terry model: a beats b with odds exp(strength of a - strength of b). The strongest first.

    `wins[a, b]` says how often a beat b; a tie counts half for each. Half a win each way is added to each pair that
    met. The fit is the MM algorithm of Hunter (2004). Raises `ValueError` if some were never compared with others, not
    even through others: then there is no telling which are stronger.
    """
    names = sorted({name for pair in wins for name in pair})
    if not names:
        return {}
    games = _games(wins, names)
    _check_connected(games, names)
    values = _fit(games)
    errors = _errors(games, values)
    fitted = [
        Strength(value, value - _NORMAL * error, value + _NORMAL * error, _chance(value))
        for value, error in zip(values, errors, strict=True)
    ]
    ranked = sorted(zip(names, fitted, strict=True), key=lambda entry: (-entry[1].value, entry[0]))
    return dict(ranked)


def _games(wins: Mapping[tuple[str, str], float], names: list[str]) -> list[dict[int, float]]:
    """For each, its wins over each that it met."""
    at = {name: index for index, name in enumerate(names)}
    games: list[dict[int, float]] = [{} for _ in names]
    for (winner, loser), count in wins.items():
        if winner == loser or not 0 <= count < math.inf:
            raise ValueError(f"{winner!r} cannot have beaten {loser!r} {count:g} times")
        if count:
            one, two = at[winner], at[loser]
            games[one][two] = games[one].get(two, _PRIOR) + count
            games[two].setdefault(one, _PRIOR)
    return games


def _check_connected(games: list[dict[int, float]], names: list[str]) -> None:
    reached, waiting = {0}, [0]
    while waiting:
        new = games[waiting.pop()].keys() - reached
        reached |= new
        waiting += new
    if apart := [name for index, name in enumerate(names) if index not in reached]:
        raise ValueError(
            f"No comparison links {names[0]!r} with {apart[0]!r}, directly or through others. "
            "Compare each with at least one of the others."
        )


def _fit(games: list[dict[int, float]]) -> list[float]:
    won = [math.fsum(beaten.values()) for beaten in games]
    met = [[(other, count + games[other][index]) for other, count in games[index].items()] for index in range(len(won))]
    values = [0.0] * len(won)
    for _ in range(_MOST_ROUNDS):
        weights = [math.exp(value) for value in values]
        fitted = [
            math.log(own / math.fsum(count / (weights[index] + weights[other]) for other, count in met[index]))
            for index, own in enumerate(won)
        ]
        centre = math.fsum(fitted) / len(fitted)
        fitted = [value - centre for value in fitted]
        moved = max(abs(new - old) for new, old in zip(fitted, values, strict=True))
        values = fitted
        if moved < _CLOSE:
            break
    return values


def _errors(games: list[dict[int, float]], values: list[float]) -> list[float]:
    """Standard errors, for strengths that add up to 0.

    The information matrix has no inverse, because only differences of strengths are known. With 1/n added to each entry
    it has one, from which 1/n is taken off again.
    """
    size = len(values)
    matrix = [[1 / size] * size for _ in values]
    for index, beaten in enumerate(games):
        for other, count in beaten.items():
            chance = _chance(values[index] - values[other])
            known = (count + games[other][index]) * chance * (1 - chance)
            matrix[index][index] += known
            matrix[index][other] -= known
    inverse = _inverse(matrix)
    return [math.sqrt(max(0.0, inverse[index][index] - 1 / size)) for index in range(size)]


def _inverse(matrix: list[list[float]]) -> list[list[float]]:
    """Gauss-Jordan elimination; no pivoting is needed, because the matrix is positive definite."""
    size = len(matrix)
    rows = [[*row, *(float(index == at) for at in range(size))] for index, row in enumerate(matrix)]
    for pivot in range(size):
        scale = rows[pivot][pivot]
        rows[pivot] = [value / scale for value in rows[pivot]]
        for index in range(size):
            if index != pivot and (factor := rows[index][pivot]):
                rows[index] = [value - factor * own for value, own in zip(rows[index], rows[pivot], strict=True)]
    return [row[size:] for row in rows]


def _chance(difference: float) -> float:
    """Without overflow, however large the difference."""
    if difference > 0:
        return 1 / (1 + math.exp(-difference))
    return math.exp(difference) / (1 + math.exp(difference))
