"""What the samples of a run cost."""

from __future__ import annotations

import msgspec


class CallCost(msgspec.Struct, frozen=True, kw_only=True):
    """What the answers, or the judgements, of a run cost. Includes results that were reused from an earlier run."""

    cost: float | None
    """US dollars for all calls with a known price; None if no price is known."""
    unpriced_samples: int
    """Samples with an answer or a judgement whose price is not known; `cost` leaves them out."""
    input_tokens: int | None
    output_tokens: int | None
    """None if no service reported any."""
    samples_without_tokens: int
    """Samples for which the service reported no tokens; the sums leave them out."""


class CaseCosts(msgspec.Struct, frozen=True, kw_only=True):
    """What a case costs, over the cases with a known cost."""

    mean: float | None
    """None if there are none."""
    cases: int
    """Cases with a known cost."""
    unpriced_cases: int
    """Cases with results but without a known cost."""


class CostlyCase(msgspec.Struct, frozen=True, kw_only=True):
    """One of the most expensive cases."""

    case_id: str
    cost: float
    share: float | None
    """Of the cost of all cases; None if that is 0."""


class CostAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """Where the money of a run went. All amounts are US dollars. An unknown price is None, never 0."""

    run_id: str
    status: str
    synthetic: bool
    samples: int
    """Samples that have been tried."""
    paid: float | None
    """What the run paid, without what it reused; as in its summary. None if no price is known."""
    unpriced_calls: int
    """Calls without a known price: every cost here leaves them out, and is a lower bound if there are any."""
    time_outs: int
    """Tries that timed out; they may have been billed, and no cost includes them."""
    cost: float | None
    """What all samples cost, including what was reused: what the run would cost if it were made again."""
    generator: CallCost
    judge: CallCost | None
    """None if the run has no judge."""
    cases: CaseCosts
    most_expensive: tuple[CostlyCase, ...]
    """At most ten, most expensive first."""
