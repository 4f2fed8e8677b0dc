"""Pass, fail or inconclusive: the verdict on each metric that decides.

With the drop as baseline minus candidate: pass if its upper bound is below the margin; fail if it is significant and
its estimate exceeds the margin. Failing is corrected for the number of metrics (Holm), because one of them is enough
to fail a run. Passing is not: all of them have to pass, and the probability that a metric with a drop of the margin
passes is at most the level, whatever the others do (Berger 1982).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.gate.columns import ROUNDING
from prompt_evaluator.gate.needed import more_cases, more_samples, smallest_drop
from prompt_evaluator.model.gate import MetricResult
from prompt_evaluator.stats.multiple import holm
from prompt_evaluator.stats.one_sided import Drop, one_sided_drop

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prompt_evaluator.gate.columns import Column, Imputed, Measure
    from prompt_evaluator.model.release import VerdictKind


class Judged(NamedTuple):
    """A measure and its cases."""

    column: Column
    measure: Measure


def metric_drops(judged: Mapping[str, Judged], level: float, imputed: Imputed | None = None) -> dict[str, Drop]:
    """The drop of each metric that both runs measured."""
    return {
        name: one_sided_drop(
            column.drops(measure, imputed),
            span=measure.span,
            level=level,
            binary_pairs=column.passes_or_fails(measure),
        )
        for name, (column, measure) in judged.items()
        if not column.missing
    }


def corrected(p_values: Sequence[float | None]) -> list[float | None]:
    """P values for so many tests, in the same order; what cannot be tested is not counted."""
    tested = iter(holm([each for each in p_values if each is not None]))
    return [None if each is None else next(tested) for each in p_values]


def verdict_of(drop: Drop, p_value: float | None, measure: Measure, level: float) -> VerdictKind:
    """A drop of exactly the margin does not exceed it, even if rounding has made it a little larger."""
    found = drop.paired
    if found.mean is None:
        return "inconclusive"
    if p_value is not None and p_value < level and found.mean > measure.margin + ROUNDING * measure.span:
        return "fail"
    return "pass" if found.high is not None and found.high < measure.margin else "inconclusive"


def metric_verdicts(
    judged: Mapping[str, Judged], level: float, imputed: Imputed | None = None
) -> dict[str, VerdictKind]:
    """The verdicts alone; a metric that only one run measured fails."""
    drops = metric_drops(judged, level, imputed)
    p_values = dict(zip(drops, corrected([drop.p_value for drop in drops.values()]), strict=True))
    return {
        name: verdict_of(drops[name], p_values[name], measure, level) if name in drops else "fail"
        for name, (_, measure) in judged.items()
    }


def metric_results(judged: Mapping[str, Judged], level: float) -> dict[str, MetricResult]:
    """The verdict on each metric with everything that led to it."""
    drops = metric_drops(judged, level)
    p_values = dict(zip(drops, corrected([drop.p_value for drop in drops.values()]), strict=True))
    results: dict[str, MetricResult] = {}
    for name, each in judged.items():
        if name not in drops:
            results[name] = _not_measured(each)
            continue
        verdict = verdict_of(drops[name], p_values[name], each.measure, level)
        results[name] = _result(each, drops[name], p_values[name], verdict, (level, len(drops)))
    return results


def _result(
    judged: Judged, drop: Drop, p_value: float | None, verdict: VerdictKind, levels: tuple[float, int]
) -> MetricResult:
    column, measure = judged
    found, (level, tests) = drop.paired, levels
    undecided = verdict == "inconclusive"
    low, high = found.low, found.high
    if measure.good > 0 and low is not None and high is not None:
        low, high = -high, -low
    means = [_common_mean(column, measure, side) for side in (0, 1)]
    return MetricResult(
        difference=-found.mean * measure.good + 0.0 if found.mean is not None else None,
        low=low,
        high=high,
        margin=measure.margin,
        verdict=verdict,
        more_samples=more_samples(column, found, measure, level) if undecided else None,
        more_cases=more_cases(found, measure, level) if undecided else None,
        smallest_drop=smallest_drop(found.std, found.count, measure.margin, level / tests),
        cases=found.count,
        baseline=means[0],
        candidate=means[1],
        p_value=p_value,
        method=found.method,
        scale=(measure.low, measure.high),
        lower_is_better=measure.good < 0,
        unscored=(column.baseline.unscored, column.candidate.unscored),
    )


def _common_mean(column: Column, measure: Measure, side: int) -> float | None:
    total, count = 0.0, 0
    for pair in column.pairs(measure):
        total += pair.candidate if side else pair.baseline
        count += 1
    return total / count if count else None


def _not_measured(judged: Judged) -> MetricResult:
    column, measure = judged
    return MetricResult(
        difference=None,
        low=None,
        high=None,
        margin=measure.margin,
        verdict="fail",
        more_samples=None,
        baseline=column.baseline.mean,
        candidate=column.candidate.mean,
        scale=(measure.low, measure.high),
        lower_is_better=measure.good < 0,
        missing=column.missing,
        unscored=(column.baseline.unscored, column.candidate.unscored),
    )
