"""The gate over the harness's results: limits, what moved against them, and what came of it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from prompt_evaluator.model.bounds import TOLERANCE

GateMetric = Literal["task_completion_rate", "latency_avg_ms", "hallucination_incidents", "retries_per_task"]
GateVerdict = Literal["pass", "fail", "skipped", "refused"]
"""`skipped`: there is nothing to compare with. `refused`: the runs cannot be compared, or cannot be read."""
Difference = Literal["tasks", "configs", "samples", "vanished", "incomplete", "mock"]
"""What makes two runs incomparable unless it is allowed. `vanished`: a configuration that only the baseline has.
`mock`: the offline mock answered in one of the runs only."""

EXIT_CODES: dict[GateVerdict, int] = {"pass": 0, "fail": 1, "refused": 3, "skipped": 0}
SKIPPED = "Not enough eval history to detect regressions; skipping gate."
FAILED = "Eval regression gate failed:"
PASSED = "Eval regression gate passed."
_Limit = Annotated[float, TOLERANCE.meta]


class GateLimits(msgspec.Struct, frozen=True, kw_only=True):
    """By how much each metric may get worse. More than that is a regression; exactly that is not."""

    completion_drop: _Limit = 2.0
    """In percentage points."""
    latency_increase_ms: _Limit = 400.0
    hallucination_increase: _Limit = 0.0
    retries_increase: _Limit = 0.5


class Movement(msgspec.Struct, frozen=True, kw_only=True):
    """One metric of one configuration in both runs."""

    config_id: str
    metric: GateMetric
    baseline: float
    candidate: float
    difference: float
    """Candidate - baseline."""
    limit: float
    """How much worse it may be."""
    exceeded: bool


class MovedRow(msgspec.Struct, frozen=True, kw_only=True):
    """A metric that moved, in words."""

    config_id: str
    metric: str
    baseline: str
    candidate: str
    change: str
    limit: str
    exceeded: bool


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why two runs cannot be compared."""

    text: str
    """A sentence without its full stop."""
    allow: Difference | None = None
    """The difference that has to be allowed to compare them all the same; None if nothing helps."""


class GateOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The gate's answer."""

    verdict: GateVerdict
    exit_code: int
    run_id: str | None = None
    timestamp: str | None = None
    baseline_run_id: str | None = None
    baseline_timestamp: str | None = None
    baseline: str | None = None
    """How the baseline was chosen, in words."""
    limits: GateLimits
    movements: tuple[Movement, ...] = ()
    """All metrics of the configurations that both runs have."""
    reasons: tuple[str, ...] = ()
    """One for each regression, or for each refusal."""
    allow: tuple[Difference, ...] = ()
    """If it was refused, what has to be allowed for a comparison; empty if nothing helps."""
    notes: tuple[str, ...] = ()
    """Sentences on what is worth knowing besides."""
