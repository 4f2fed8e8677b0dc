"""What the samples of a run cost, and what that bought."""

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
    """What a case costs, over the cases with a known cost; all are None if there are none."""

    mean: float | None
    median: float | None
    p95: float | None
    max: float | None
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


class MetricCost(msgspec.Struct, frozen=True, kw_only=True):
    """What one point of a metric costs: the cost of a sample divided by its mean score."""

    mean: float
    scale: tuple[float, float]
    cost_per_point: float | None
    """None if no price is known, or the mean is not above 0."""
    tokens_per_point: float | None


class ErrorCosts(msgspec.Struct, frozen=True, kw_only=True):
    """What samples cost that lack an answer or a score."""

    samples: int
    cost: float | None
    """None if there are such samples and none of them has a known cost."""
    unpriced_samples: int
    """Those without a known cost, such as calls that failed: a service may have billed them."""


class ReusedSamples(msgspec.Struct, frozen=True, kw_only=True):
    """Samples whose answer was reused from an earlier run, at no cost."""

    samples: int
    share: float | None
    """Of all samples that have been tried; None if there are none."""


class Latencies(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds of the successful call for an answer; None if no sample has an answer."""

    mean: float | None
    p50: float | None
    p95: float | None
    samples: int


class CostAnalysis(msgspec.Struct, frozen=True, kw_only=True):
    """Where the money of a run went. All amounts are US dollars. An unknown price is None, never 0."""

    run_id: str
    status: str
    synthetic: bool
    samples: int
    """Samples that have been tried."""
    passed_samples: int
    """Samples in which every score reaches its pass mark."""
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
    answers: int
    """Answers asked for, including further attempts after a bad one."""
    tries: int
    """Calls made for the answers that count, including those that failed and were repeated."""
    cases: CaseCosts
    most_expensive: tuple[CostlyCase, ...]
    """At most ten, most expensive first."""
    cost_per_sample: float | None
    cost_per_passed_sample: float | None
    """The cost of all samples, divided by the number that pass; None if none does."""
    metrics: dict[str, MetricCost]
    errors: ErrorCosts
    reused: ReusedSamples
    latency: Latencies
