"""Draws the samples that people are asked to label, and notes with which probability.

Estimates can be corrected by labels only if it is known how their samples were drawn, so the way of drawing is fixed
before the first label, and every sample keeps its probability.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.labelling import Drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.labelling import Candidate, Draw

_MOST_LEVELS = 10
_FEWEST_LEVELS = 2
"""A scale with fewer whole steps than this is divided by its pass mark."""


class Marks(NamedTuple):
    """The ends of a scale, and the score at or above which an answer passes."""

    low: float
    high: float
    pass_at: float


def draw(candidates: Sequence[Candidate], how: Draw, size: int, marks: Marks, seed: int) -> list[Drawn]:
    """Draw at most `size` samples, in the order in which they are to be labelled.

    The same arguments draw the same samples. The order is random, too, so that somebody who stops early has labelled
    a random part of them; except for `uncertain`, which begins with the least certain.
    """
    rng = Random(seed)  # noqa: S311 - not a secret
    if how == "uncertain":
        return _least_certain(candidates, size, marks, rng)
    strata = [list(candidates)] if how == "random" else _strata(candidates, marks)
    drawn = [
        _drawn(each, count / len(stratum))
        for stratum, count in zip(strata, _shares([len(stratum) for stratum in strata], size), strict=True)
        for each in rng.sample(stratum, count)
    ]
    rng.shuffle(drawn)
    return drawn


def _strata(candidates: Sequence[Candidate], marks: Marks) -> list[list[Candidate]]:
    """Samples by the judge's score, to the nearest whole step of a scale, or by pass and fail; those without last."""
    found: dict[float, list[Candidate]] = {}
    by_level = _FEWEST_LEVELS <= marks.high - marks.low < _MOST_LEVELS
    for each in candidates:
        level = float("inf") if each.value is None else round(each.value) if by_level else bool(each.passed)
        found.setdefault(level, []).append(each)
    return [found[level] for level in sorted(found)]


def _shares(sizes: Sequence[int], wanted: int) -> list[int]:
    """How many to draw from each stratum: equally many, as far as there are so many."""
    shares = [0] * len(sizes)
    left = min(wanted, sum(sizes))
    while left:
        unfilled = [at for at, size in enumerate(sizes) if shares[at] < size]
        for at in unfilled[:left]:
            more = min(sizes[at] - shares[at], max(1, left // len(unfilled)))
            shares[at] += more
            left -= more
            if not left:
                break
    return shares


def _least_certain(candidates: Sequence[Candidate], size: int, marks: Marks, rng: Random) -> list[Drawn]:
    """Judgements that disagree about passing first, then scores near the pass mark, then cases with mixed samples."""
    passes: dict[int, list[bool]] = {}
    for each in candidates:
        if each.passed is not None:
            passes.setdefault(each.position, []).append(each.passed)
    mixed = {position: abs(0.5 - sum(found) / len(found)) for position, found in passes.items()}

    def certainty(each: Candidate) -> tuple[float, ...]:
        if each.value is None:
            return (1.0, float("inf"), 0.5, rng.random())
        distance = abs(each.value - marks.pass_at)
        return (1 - _disagreement(each, marks.pass_at), distance, mixed.get(each.position, 0.5), rng.random())

    return [_drawn(each, None) for each in sorted(candidates, key=certainty)[:size]]


def _disagreement(each: Candidate, pass_at: float) -> float:
    """How evenly the judgements of an answer are divided about passing: from 0 to 1."""
    given = [value >= pass_at for value in each.repeats if value is not None]
    return 2 * min(sum(given), len(given) - sum(given)) / len(given) if given else 0.0


def _drawn(each: Candidate, probability: float | None) -> Drawn:
    return Drawn(each.position, each.sample, each.attempt, probability)
