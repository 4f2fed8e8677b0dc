"""What a judge's preferences say about two runs, or several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from prompt_evaluator.model.pairwise import PairwiseResult, PairwiseStrength, PositionBias
from prompt_evaluator.stats.bradley_terry import bradley_terry
from prompt_evaluator.stats.exact import binomial_two_sided
from prompt_evaluator.stats.intervals import case_mean_interval, clustered_share_interval

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from prompt_evaluator.model.comparison import CompareVerdict
    from prompt_evaluator.model.pairwise import Pair

_HALF = 0.5
_SIGNIFICANT = 0.05
_NEAR = 0.05
"""A win rate this close to one half is no difference."""
_LARGE_LOW, _LARGE_SHARE = 0.1, 0.5
"""A position bias is large if its interval lies above the first; without an interval, if its share is the second or
more."""


def pairwise_result(cases: Iterable[Sequence[Pair]], **about: Any) -> PairwiseResult:
    """Sum up the pairs of each case; `about` names the runs and the judge, as in the result."""
    counts = _Counts()
    for pairs in cases:
        counts.add(pairs)
    return counts.result(about)


def strengths(runs: Sequence[str], results: Sequence[PairwiseResult]) -> tuple[PairwiseStrength, ...] | None:
    """Strengths of all runs, the strongest first; None if not all are linked by judged pairs.

    Each case counts as one meeting, however many pairs it has: they are not independent.
    """
    try:
        found = bradley_terry(_wins(results))
    except ValueError:
        return None
    if found.keys() != {*runs}:
        return None
    return tuple(
        PairwiseStrength(run_id=name, strength=each.value, low=each.low, high=each.high, win_chance=each.win_chance)
        for name, each in found.items()
    )


def _wins(results: Sequence[PairwiseResult]) -> Mapping[tuple[str, str], float]:
    wins: dict[tuple[str, str], float] = {}
    for result in results:
        if result.win_rate is not None:
            wins[result.candidate, result.baseline] = result.win_rate * result.cases
            wins[result.baseline, result.candidate] = (1 - result.win_rate) * result.cases
    return wins


class _Counts:
    """Counts pairs, a case at a time."""

    def __init__(self) -> None:
        self.wins = self.losses = self.ties = self.disagreements = self.same = self.unjudged = self.missing = 0
        self.means: list[float] = []
        self.asked: list[int] = []
        self.first: list[int] = []
        self.second: list[int] = []
        """By case: pairs that a judge was asked about, and those in which it preferred one place in both orders."""

    def add(self, pairs: Sequence[Pair]) -> None:
        values = []
        asked = first = second = 0
        for pair in pairs:
            one, two = pair.candidate_first, pair.baseline_first
            if one is None or two is None:
                self.unjudged += pair.has_answers
                self.missing += not pair.has_answers
                continue
            values.append(value := one if one == two else _HALF)
            self.wins += value > _HALF
            self.losses += value < _HALF
            self.ties += value == _HALF
            self.same += pair.is_same
            self.disagreements += one != two
            asked += not pair.is_same
            first += one > _HALF > two
            second += one < _HALF < two
        if values:
            self.means.append(sum(values) / len(values))
            for counts, count in ((self.asked, asked), (self.first, first), (self.second, second)):
                counts.append(count)

    def result(self, about: Mapping[str, Any]) -> PairwiseResult:
        means = self.means
        rate = sum(means) / len(means) if means else None
        low, high = case_mean_interval(means, (0.0, 1.0)) or (None, None)
        won, lost = sum(mean > _HALF for mean in means), sum(mean < _HALF for mean in means)
        p_value = binomial_two_sided(won, won + lost) if won + lost else None
        return PairwiseResult(
            **about,
            cases=len(means),
            pairs=self.wins + self.losses + self.ties,
            wins=self.wins,
            losses=self.losses,
            ties=self.ties,
            disagreements=self.disagreements,
            same=self.same,
            unjudged=self.unjudged,
            missing=self.missing,
            case_wins=won,
            case_losses=lost,
            case_ties=len(means) - won - lost,
            win_rate=rate,
            low=low,
            high=high,
            p_value=p_value,
            position_bias=self._position_bias(),
            verdict=_verdict(won - lost, p_value, low, high),
        )

    def _position_bias(self) -> PositionBias:
        pairs = sum(self.asked)
        first, second = _share(self.first, self.asked), _share(self.second, self.asked)
        return PositionBias(
            pairs=pairs,
            first=sum(self.first),
            second=sum(self.second),
            first_share=first.share,
            first_low=first.low,
            first_high=first.high,
            second_share=second.share,
            second_low=second.low,
            second_high=second.high,
            large=first.is_large or second.is_large,
        )


class _Share(NamedTuple):
    share: float | None
    low: float | None
    high: float | None

    @property
    def is_large(self) -> bool:
        if self.low is not None:
            return self.low > _LARGE_LOW
        return self.share is not None and self.share >= _LARGE_SHARE


def _share(counts: Sequence[int], asked: Sequence[int]) -> _Share:
    total = sum(asked)
    low, high = clustered_share_interval(counts, asked) or (None, None)
    return _Share(sum(counts) / total if total else None, low, high)


def _verdict(lead: int, p_value: float | None, low: float | None, high: float | None) -> CompareVerdict:
    if p_value is not None and p_value < _SIGNIFICANT:
        return "better" if lead > 0 else "worse"
    if low is not None and high is not None and low >= _HALF - _NEAR and high <= _HALF + _NEAR:
        return "no_difference"
    return "inconclusive"
