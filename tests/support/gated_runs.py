"""Runs in memory, gated as the command does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.app.gate import GateRequest, gate_pair
from prompt_evaluator.model.gate import GatePolicy, Guardrails

if TYPE_CHECKING:
    from compared_runs import MemoryRun

    from prompt_evaluator.model.gate import GateResult

NO_RAILS = Guardrails(flags=None, errors=None, cost=None, latency=None)
METRICS_ONLY = GatePolicy(guardrails=NO_RAILS)


def gated(
    baseline: MemoryRun, candidate: MemoryRun, policy: GatePolicy = METRICS_ONLY, *, allow_different: bool = False
) -> GateResult:
    return gate_pair(baseline, candidate, GateRequest("candidate", "baseline", policy, allow_different))
