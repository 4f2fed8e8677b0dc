"""Draws the answers that people are asked to label, and says with which probability.

Estimates can be corrected by labels only if it is known how their answers were drawn. Nothing about a draw is stored:
it follows from the run, the way of drawing and a seed.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from prompt_evaluator.model.labelling import Drawn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.labelling import Candidate, Draw, LabelScale

_MOST_LEVELS = 10
_FEWEST_LEVELS = 2
"""A scale with fewer whole steps than this is divided by its pass mark."""


def draw(candidates: Sequence[Candidate], how: Draw, count: int, scale: LabelScale, seed: int) -> list[Drawn]:
    """Draw at most `count` answers, in the order in which they are to be labelled.

    The order of a seed is random, so that somebody who stops early has labelled a random part, and it is the same for
    all counts; `uncertain` begins with the least certain instead.
    """
    shuffled = sorted(candidates, key=lambda each: hashlib.sha256(f"{seed} {each.answer!r}".encode()).digest())
    if how == "uncertain":
        return [Drawn(each.answer, None) for each in _least_certain(shuffled, scale.pass_at)[:count]]
    strata = [shuffled] if how == "random" else _strata(shuffled, scale)
    shares = _equal_shares([len(stratum) for stratum in strata], count)
    drawn = {
        each.answer: share / len(stratum)
        for share, stratum in zip(shares, strata, strict=True)
        for each in stratum[:share]
    }
    return [Drawn(each.answer, drawn[each.answer]) for each in shuffled if each.answer in drawn]


def _equal_shares(sizes: Sequence[int], wanted: int) -> list[int]:
    """How many to draw from each stratum: equally many, as far as there are so many."""
    shares = [0] * len(sizes)
    left = min(wanted, sum(sizes))
    while left:
        unfilled = [at for at, size in enumerate(sizes) if shares[at] < size]
        most = max(1, left // len(unfilled))
        for at in unfilled[:left]:
            more = min(most, sizes[at] - shares[at])
            shares[at] += more
            left -= more
    return shares


def _strata(candidates: Sequence[Candidate], scale: LabelScale) -> list[list[Candidate]]:
    """Answers by the judge's score, to the nearest whole step of a scale, or by pass and fail; those without last."""
    found: dict[float, list[Candidate]] = {}
    by_level = _FEWEST_LEVELS <= scale.high - scale.low < _MOST_LEVELS
    for each in candidates:
        level = float("inf") if each.value is None else round(each.value) if by_level else bool(each.passed)
        found.setdefault(level, []).append(each)
    return [found[level] for level in sorted(found)]


def _least_certain(candidates: Sequence[Candidate], pass_at: float) -> list[Candidate]:
    """Judgements that disagree about passing first, then scores near the pass mark, then cases with mixed samples."""
    passes: dict[str, list[bool]] = {}
    for each in candidates:
        if each.passed is not None:
            passes.setdefault(each.answer.case_id, []).append(each.passed)
    mixed = {case_id: abs(0.5 - sum(found) / len(found)) for case_id, found in passes.items()}

    def certainty(each: Candidate) -> tuple[float, ...]:
        if each.value is None:
            return (1.0, float("inf"), 0.5)
        return (1 - _disagreement(each, pass_at), abs(each.value - pass_at), mixed.get(each.answer.case_id, 0.5))

    return sorted(candidates, key=certainty)


def _disagreement(each: Candidate, pass_at: float) -> float:
    """How evenly the judgements of an answer are divided about passing: from 0 to 1."""
    given = [value >= pass_at for value in each.repeats if value is not None]
    return 2 * min(sum(given), len(given) - sum(given)) / len(given) if given else 0.0
