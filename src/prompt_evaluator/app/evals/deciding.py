"""The verdict on two runs of the harness that may be compared, by either policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from prompt_evaluator.gate.harness import HarnessMargins, harness_verdicts, worst_exit_code
from prompt_evaluator.gate.thresholds import movements, sentence
from prompt_evaluator.model.harness_gate import EXIT_CODES

if TYPE_CHECKING:
    from collections.abc import Collection

    from prompt_evaluator.model.gate import GateResult
    from prompt_evaluator.model.harness import HarnessRun, HarnessSummary
    from prompt_evaluator.model.harness_gate import GateLimits, GateVerdict, Movement

_LEVEL = 0.05
_KINDS: dict[int, GateVerdict] = {code: verdict for verdict, code in EXIT_CODES.items() if verdict != "skipped"}


class Decision(NamedTuple):
    """What a policy says."""

    verdict: GateVerdict
    exit_code: int
    reasons: list[str]
    movements: tuple[Movement, ...] = ()
    noise: dict[str, GateResult] = {}  # noqa: RUF012 - never changed


def by_limits(baseline: HarnessRun, candidate: HarnessRun, limits: GateLimits) -> Decision:
    """Compare the summaries as they are written."""
    before = {each.config_id: each for each in baseline.summaries}
    moved: list[Movement] = []
    refused = []
    for each in candidate.summaries:
        old = before.get(each.config_id)
        if old is None:
            continue
        found = movements(old, each, limits)
        if found is None:
            refused.append(_why_nothing(old, each))
        moved += found or []
    if refused:
        return Decision("refused", EXIT_CODES["refused"], refused)
    reasons = [sentence(each) for each in moved if each.exceeded]
    verdict: GateVerdict = "fail" if reasons else "pass"
    return Decision(verdict, EXIT_CODES[verdict], reasons, tuple(moved))


def by_noise(
    baseline: HarnessRun,
    candidate: HarnessRun,
    limits: GateLimits,
    inconclusive: Literal["pass", "fail"] | None = None,
) -> Decision:
    """Test the evaluations of configurations that both runs have, with the limits as margins.

    The level is divided by the number of configurations, so that more of them do not raise more false alarms.
    """
    common = {each.config_id for each in baseline.summaries} & {each.config_id for each in candidate.summaries}
    level = _LEVEL / max(1, len(common))
    found = harness_verdicts(_only(baseline, common), _only(candidate, common), _margins(limits, candidate), level)
    verdict = _KINDS[worst_exit_code(found.values())]
    found = {name: each.with_inconclusive(inconclusive or "4") for name, each in found.items()}
    reasons = [
        text if text.startswith(name) else f"{name}: {text}"
        for name, each in found.items()
        if (each.verdict or "refused") == verdict != "pass"
        for text in each.reasons
    ]
    return Decision(verdict, worst_exit_code(found.values()), reasons, noise=found)


def _only(run: HarnessRun, config_ids: Collection[str]) -> HarnessRun:
    kept = tuple(each for each in run.summaries if each.config_id in config_ids)
    return msgspec.structs.replace(run, summaries=kept)


def _margins(limits: GateLimits, run: HarnessRun) -> HarnessMargins:
    """The limits as margins. That of incidents is a number over all tasks and samples; the margin is for each."""
    most = max((each.total_tasks for each in run.summaries), default=1)
    return HarnessMargins(
        completion=limits.completion_drop,
        retries=limits.retries_increase,
        latency_ms=limits.latency_increase_ms,
        hallucinations=limits.hallucination_increase / max(1, most * run.samples),
    )


def _why_nothing(before: HarnessSummary, after: HarnessSummary) -> str:
    of = "the latest run" if _is_empty(after) else "the baseline"
    tasks = min(before.total_tasks, after.total_tasks)
    why = f"has no tasks in {of}" if tasks < 1 else f"has no answers in {of}: every task failed"
    return f"the configuration {after.config_id} {why}"


def _is_empty(summary: HarnessSummary) -> bool:
    values = (summary.task_completion_rate, summary.retries_per_task, summary.latency_avg_ms)
    return summary.total_tasks < 1 or None in values
