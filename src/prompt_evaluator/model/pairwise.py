"""Which of two runs a judge prefers, answer by answer; and the strengths of several runs."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from prompt_evaluator.model.comparison import CompareVerdict
from prompt_evaluator.model.findings import Mark

CANDIDATE_FIRST, BASELINE_FIRST = "candidate_first", "baseline_first"
"""Names of the two scores of a pair, one for each order: 1 if the judge prefers the candidate, 0 if the baseline, 0.5
for a tie."""


class Pair(NamedTuple):
    """What a judge said about one answer of each run to the same case; None for an order without a judgement."""

    candidate_first: float | None
    baseline_first: float | None
    is_same: bool = False
    """Whether the answers are the same, so that no judge was asked."""
    has_answers: bool = True
    """Whether both runs have an answer."""


class PositionBias(msgspec.Struct, frozen=True, kw_only=True):
    """How often a judge preferred the same place whichever answer was there. Such pairs count as ties."""

    pairs: int
    """Pairs with different answers that were judged in both orders."""
    first: int
    second: int
    """Pairs in which the first, or the second, place was preferred in both orders."""
    first_share: float | None
    first_low: float | None
    first_high: float | None
    second_share: float | None
    second_low: float | None
    second_high: float | None
    """Shares of the pairs with 95 % intervals, which treat the pairs of one case as one; None below five cases."""
    large: bool
    """Whether the place decides in so many pairs that another judge should be asked."""


class PairwiseResult(msgspec.Struct, frozen=True, kw_only=True):
    """Two runs, compared answer by answer."""

    baseline: str
    candidate: str
    """Ids of the runs."""
    baseline_model: str
    candidate_model: str
    run_id: str
    """The run in which the judge was asked."""
    status: str
    """Its status; numbers of an unfinished one will change."""
    judge_model: str
    synthetic: bool
    """Whether the offline mock answered or judged."""
    cases: int
    """Cases with at least one judged pair."""
    pairs: int
    """Judged pairs: both orders have a judgement."""
    wins: int
    losses: int
    ties: int
    """Pairs in which the candidate was preferred in both orders, the baseline was, and all others."""
    disagreements: int
    """Ties because the two orders do not agree."""
    same: int
    """Ties because the answers are the same; no judge was asked."""
    unjudged: int
    """Pairs for which an order has no judgement, such as after an unreadable reply. They count for nobody."""
    missing: int
    """Pairs for which a run has no answer. They count for nobody."""
    case_wins: int
    case_losses: int
    case_ties: int
    """Cases in which the candidate's share of its pairs is above, below or exactly one half."""
    win_rate: float | None
    """The candidate's share, a tie counting half: the mean over the cases. None if no pair was judged."""
    low: float | None
    high: float | None
    """95 % interval of the win rate, from the cases; None below five cases."""
    p_value: float | None
    """Exact two-sided sign test over the cases; None if no case was won or lost."""
    position_bias: PositionBias
    verdict: CompareVerdict
    """`better` and `worse`: the sign test is significant. `no_difference`: the interval lies within 5 points of one
    half."""


class PairwiseStrength(msgspec.Struct, frozen=True, kw_only=True):
    """How strong one of several runs is (Bradley-Terry)."""

    run_id: str
    strength: float
    """Logarithm of the odds against a run of average strength."""
    low: float
    high: float
    win_chance: float
    """Probability of being preferred to a run of average strength."""


class PairwiseReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every two of some runs, compared answer by answer."""

    runs: tuple[str, ...]
    """Ids, in the order given."""
    comparisons: tuple[PairwiseResult, ...]
    strengths: tuple[PairwiseStrength, ...] | None = None
    """The strongest first; None for two runs, or if not all runs are linked by judged pairs."""


class PairwiseFinding(msgspec.Struct, frozen=True, kw_only=True):
    """What to say about two runs that were compared answer by answer."""

    mark: Mark | None
    """None for no difference."""
    text: str
    """Which run is preferred, as a sentence."""
    facts: tuple[tuple[str, str], ...]
    """Labels and texts."""
    warnings: tuple[str, ...]
    """Sentences on what makes the result weaker."""


class StrengthFinding(msgspec.Struct, frozen=True, kw_only=True):
    """The strength of one of several runs, as text."""

    name: str
    strength: str
    interval: str
    chance: str


class PairwiseFindings(msgspec.Struct, frozen=True, kw_only=True):
    """What to say about runs that were compared answer by answer."""

    headline: str
    synthetic: str | None
    """A warning if the offline mock took part."""
    comparisons: tuple[PairwiseFinding, ...]
    strengths: tuple[StrengthFinding, ...]
    no_strengths: str | None
    """Why more than two runs have no strengths."""
