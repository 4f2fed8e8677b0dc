"""Flags, errors, cost, latency and slices: what may fail a run but need not be proven for it to pass.

All of them together fail by chance with the probability of their own level (Holm).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from prompt_evaluator.gate.columns import Measure
from prompt_evaluator.gate.deciding import Judged, corrected, metric_drops, verdict_of
from prompt_evaluator.model.gate import GuardrailResult, SliceResult
from prompt_evaluator.stats.exact import fisher_less

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.gate.columns import Column
    from prompt_evaluator.model.comparison import RunFacts, SideName
    from prompt_evaluator.model.gate import GuardrailKind
    from prompt_evaluator.stats.one_sided import Drop


class Guarded(NamedTuple):
    """A guardrail before the correction for all of them."""

    name: str
    result: GuardrailResult
    """Its verdict holds if it cannot be tested."""
    p_value: float | None = None
    drop: Drop | None = None
    measure: Measure | None = None


class SliceDrop(NamedTuple):
    """A metric in a group of cases."""

    key: str
    value: str
    metric: str
    drop: Drop
    measure: Measure


class Held(NamedTuple):
    """What was found."""

    guardrails: dict[str, GuardrailResult]
    slices: tuple[SliceResult, ...]


def guarded(name: str, kind: GuardrailKind, column: Column | None, margin: float, level: float) -> Guarded:
    """A flag, with its margin in points of a share, or an amount, with one relative to the baseline's mean."""
    if column is None or not (column.baseline.cases or column.candidate.cases):
        return Guarded(name, _unmeasured(kind, margin))
    sides = column.baseline.mean, column.candidate.mean
    if column.missing:
        return Guarded(name, _only_one(kind, margin, column.missing, sides))
    relative = kind in ("cost", "latency")
    highest = column.seen[1] if relative else 1.0
    measure = Measure(0.0, highest, margin * (sides[0] or 0.0) if relative else margin, good=-1)
    if highest <= 0:  # free
        result = _result(kind, measure.margin, (0.0, 0.0))
        return Guarded(name, msgspec.structs.replace(result, difference=0.0, verdict="pass"))
    drop = metric_drops({name: Judged(column, measure)}, level)[name]
    found = drop.paired
    result = msgspec.structs.replace(
        _result(kind, measure.margin, sides), difference=found.mean, low=found.low, high=found.high, cases=found.count
    )
    return Guarded(name, result, drop.p_value, drop, measure)


def guarded_errors(facts: tuple[RunFacts, RunFacts], margin: float) -> Guarded:
    """Samples without an answer or a score.

    Fisher's exact test over cases: the samples of a case often fail together, so they count as one.
    """
    shares = [_share(each) for each in facts]
    if shares[0] is None or shares[1] is None:
        if shares[0] is shares[1]:
            return Guarded("errors", _unmeasured("errors", margin))
        side: SideName = "candidate" if shares[1] is None else "baseline"
        return Guarded("errors", _only_one("errors", margin, side, (shares[0], shares[1])))
    difference = shares[1] - shares[0]
    cases = [max(1, each.cases or each.samples or 1) for each in facts]
    good = [round((1 - share) * count) for share, count in zip((shares[0], shares[1]), cases, strict=True)]
    p_value = fisher_less(good[0], cases[0], good[1], cases[1])
    result = msgspec.structs.replace(
        _result("errors", margin, (shares[0], shares[1])),
        difference=difference,
        cases=min(cases),
        verdict="inconclusive" if difference > margin else "pass",
    )
    return Guarded("errors", result, p_value)


def held(guards: Sequence[Guarded], slices: Sequence[SliceDrop], level: float) -> Held:
    """Correct for all guardrails and slices, and decide."""
    p_values = corrected([*(each.p_value for each in guards), *(each.drop.p_value for each in slices)])
    results = {each.name: _decided(each, p, level) for each, p in zip(guards, p_values, strict=False)}
    rows = [_slice(each, p, level) for each, p in zip(slices, p_values[len(guards) :], strict=True)]
    rows.sort(key=lambda row: (row.verdict != "fail", 1.0 if row.p_value is None else row.p_value))
    return Held(results, tuple(rows))


def _decided(guard: Guarded, p_value: float | None, level: float) -> GuardrailResult:
    verdict = guard.result.verdict
    if guard.drop is not None and guard.measure is not None:
        verdict = verdict_of(guard.drop, p_value, guard.measure, level)
    elif p_value is not None and verdict == "inconclusive" and p_value < level:
        verdict = "fail"
    return msgspec.structs.replace(guard.result, verdict=verdict, p_value=p_value)


def _slice(found: SliceDrop, p_value: float | None, level: float) -> SliceResult:
    paired, measure = found.drop.paired, found.measure
    fails = verdict_of(found.drop, p_value, measure, level) == "fail"
    return SliceResult(
        key=found.key,
        value=found.value,
        metric=found.metric,
        cases=paired.count,
        difference=-(paired.mean or 0.0) * measure.good + 0.0,
        margin=measure.margin,
        p_value=p_value,
        verdict="fail" if fails else "pass",
    )


def _share(facts: RunFacts) -> float | None:
    if facts.failed_samples is None or not facts.samples:
        return None
    return facts.failed_samples / facts.samples


def _result(kind: GuardrailKind, margin: float, sides: tuple[float | None, float | None]) -> GuardrailResult:
    return GuardrailResult(
        difference=None,
        low=None,
        high=None,
        margin=margin,
        verdict="inconclusive",
        kind=kind,
        baseline=sides[0],
        candidate=sides[1],
    )


def _unmeasured(kind: GuardrailKind, margin: float) -> GuardrailResult:
    return msgspec.structs.replace(_result(kind, margin, (None, None)), verdict="not_measured")


def _only_one(
    kind: GuardrailKind, margin: float, missing: SideName, sides: tuple[float | None, float | None]
) -> GuardrailResult:
    return msgspec.structs.replace(_result(kind, margin, sides), verdict="fail", missing=missing)
