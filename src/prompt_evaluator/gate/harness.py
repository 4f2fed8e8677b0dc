"""The noise gate on the release harness's runs: each configuration of the latest run against the same of a baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import IncomparableError
from prompt_evaluator.gate.columns import Column, Measure, Measured
from prompt_evaluator.gate.deciding import Judged, metric_drops, metric_results, metric_verdicts
from prompt_evaluator.gate.guardrails import Guarded, held
from prompt_evaluator.gate.reasons import gate_reasons, refusal
from prompt_evaluator.model.gate import (
    EXIT_CODES,
    FAILED,
    PASSED,
    REFUSED,
    UNDECIDED,
    GatePolicy,
    GateResult,
    GuardrailResult,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from prompt_evaluator.model.gate import GuardrailKind
    from prompt_evaluator.model.harness import HarnessEvaluation, HarnessRun
    from prompt_evaluator.model.release import VerdictKind

COMPLETION, RETRIES, LATENCY, HALLUCINATIONS = "completion", "retries", "latency", "hallucinations"
_POINTS = 100.0
_HIGHEST = 1e12


class HarnessMargins(msgspec.Struct, frozen=True, kw_only=True):
    """The harness's thresholds, as margins."""

    completion: float = 2.0
    """Points of the completion rate, which is from 0 to 100."""
    retries: float = 0.5
    """Per task."""
    latency_ms: float = 400.0
    hallucinations: float = 0.0
    """Incidents per task."""


_DEFAULTS = HarnessMargins()


def harness_verdicts(
    baseline: HarnessRun, candidate: HarnessRun, margins: HarnessMargins = _DEFAULTS, level: float = 0.05
) -> dict[str, GateResult]:
    """The verdict on each configuration of either run. Completion decides; the other three are guardrails.

    A configuration that only one run has fails. One without evaluations, as in a history that was cut, has no verdict.
    Tasks that failed are neither passes nor failures: if they could change the verdict, there is none.
    """
    names = dict.fromkeys(each.config_id for run in (baseline, candidate) for each in run.summaries)
    return {name: _configuration(name, baseline, candidate, margins, level) for name in names}


def worst_exit_code(found: Iterable[GateResult]) -> int:
    """Of all configurations: a failure, then no verdict, then inconclusive."""
    codes = {each.exit_code for each in found}
    return next((code for code in (FAILED, REFUSED, UNDECIDED) if code in codes), PASSED)


def _configuration(
    name: str, baseline: HarnessRun, candidate: HarnessRun, margins: HarnessMargins, level: float
) -> GateResult:
    empty = _result((baseline, candidate), level)
    sides = [_by_task(run, name) for run in (baseline, candidate)]
    for run, what in ((baseline, "baseline"), (candidate, "candidate")):
        if all(each.config_id != name for each in run.summaries):
            reasons = (f"{name} is missing in the {what}, {run.run_id}.",)
            return msgspec.structs.replace(empty, verdict="fail", exit_code=FAILED, reasons=reasons)
    tasks = [task for task in sides[0] if task in sides[1]]
    try:
        return _decide(empty, [(sides[0][task], sides[1][task]) for task in tasks], margins, level)
    except IncomparableError as error:
        return msgspec.structs.replace(empty, verdict=None, exit_code=REFUSED, reasons=(f"{name}: {error}",))


def _decide(
    empty: GateResult,
    tasks: Sequence[tuple[Sequence[HarnessEvaluation], Sequence[HarnessEvaluation]]],
    margins: HarnessMargins,
    level: float,
) -> GateResult:
    if not tasks:
        raise IncomparableError("the runs have no task in common whose evaluations were kept, so there is no verdict.")
    completion = Measure(0.0, _POINTS, margins.completion)
    judged = {COMPLETION: Judged(_column(tasks, _completion), completion)}
    if not (judged[COMPLETION].column.baseline.cases and judged[COMPLETION].column.candidate.cases):
        raise IncomparableError("every task of one run failed, so there is no verdict. Run it again.")
    metrics = metric_results(judged, level)
    guards = [
        _guard(RETRIES, "retries", _column(tasks, _retries), margins.retries, level),
        _guard(LATENCY, "latency", _column(tasks, _latency), margins.latency_ms, level),
        _guard(HALLUCINATIONS, "hallucinations", _column(tasks, _incidents), margins.hallucinations, level),
    ]
    rails = held(guards, (), empty.policy.guardrails.level).guardrails
    fails = any(rail.verdict == "fail" for rail in rails.values())
    verdict = _overall(metrics[COMPLETION].verdict, fails=fails)
    found = msgspec.structs.replace(
        empty, verdict=verdict, exit_code=EXIT_CODES[verdict], metrics=metrics, guardrails=rails, cases=len(tasks)
    )
    if not judged[COMPLETION].column.is_complete:
        worst, best = (
            _overall(metric_verdicts(judged, level, imputed)[COMPLETION], fails=fails) for imputed in ("worst", "best")
        )
        if {worst, best} != {verdict}:
            reasons = (refusal(found, worst, best, retry="Run the harness again with `evals run --resume`"),)
            return msgspec.structs.replace(found, verdict=None, exit_code=REFUSED, reasons=reasons)
    return msgspec.structs.replace(found, reasons=tuple(gate_reasons(found)))


def _guard(name: str, kind: GuardrailKind, column: Column, margin: float, level: float) -> Guarded:
    """A guardrail with a margin in its own unit; more is worse."""
    sides = column.baseline.mean, column.candidate.mean
    result = GuardrailResult(
        difference=None,
        low=None,
        high=None,
        margin=margin,
        verdict="not_measured",
        kind=kind,
        baseline=sides[0],
        candidate=sides[1],
    )
    if sides[0] is None or sides[1] is None:
        return Guarded(name, result)
    if column.seen[1] <= 0:  # never
        return Guarded(
            name, msgspec.structs.replace(result, difference=0.0, verdict="pass", cases=column.baseline.cases)
        )
    measure = Measure(0.0, column.seen[1], margin, good=-1)
    drop = metric_drops({name: Judged(column, measure)}, level)[name]
    found = drop.paired
    result = msgspec.structs.replace(
        result, difference=found.mean, low=found.low, high=found.high, cases=found.count, verdict="inconclusive"
    )
    return Guarded(name, result, drop.p_value, drop, measure)


def _column(
    tasks: Sequence[tuple[Sequence[HarnessEvaluation], Sequence[HarnessEvaluation]]],
    value: Callable[[HarnessEvaluation], float | None],
) -> Column:
    column = Column()
    for pair in tasks:
        sides = [_measured([value(each) for each in side]) for side in pair]
        column.add(sides[0], sides[1], (len(pair[0]), len(pair[1])))
    return column


def _measured(values: Sequence[float | None]) -> Measured | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = sum(known) / len(known)
    squares = sum((value - mean) ** 2 for value in known)
    error = squares / (len(known) - 1) / len(known) if len(known) > 1 else None
    return Measured(mean, error, len(known), len(values) - len(known))


def _completion(found: HarnessEvaluation) -> float | None:
    return None if found.completion_pass is None else _POINTS * found.completion_pass


def _retries(found: HarnessEvaluation) -> float | None:
    return None if found.completion_pass is None else min(float(found.retries_used), _HIGHEST)


def _latency(found: HarnessEvaluation) -> float | None:
    return None if found.latency_ms is None else min(found.latency_ms, _HIGHEST)


def _incidents(found: HarnessEvaluation) -> float | None:
    return min(float(max(found.hallucination_incidents, found.hallucination_incident)), _HIGHEST)


def _by_task(run: HarnessRun, config_id: str) -> Mapping[str, list[HarnessEvaluation]]:
    found: dict[str, list[HarnessEvaluation]] = {}
    for each in run.evaluations:
        if each.config_id == config_id:
            found.setdefault(each.task_id, []).append(each)
    return found


def _overall(verdict: VerdictKind, *, fails: bool) -> VerdictKind:
    return "fail" if fails else verdict


def _result(runs: tuple[HarnessRun, HarnessRun], level: float) -> GateResult:
    return GateResult(
        verdict="inconclusive",
        exit_code=UNDECIDED,
        metrics={},
        guardrails={},
        reasons=(),
        baseline=runs[0].run_id,
        candidate=runs[1].run_id,
        policy=GatePolicy(level=level),
    )
