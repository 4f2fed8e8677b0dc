"""The rows of a comparison: each metric and flag in both runs, with the difference on one axis for all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.app.findings import digits
from prompt_evaluator.model.comparison import CaseClass, CompareVerdict
from prompt_evaluator.model.wording import decimal, many, percent
from prompt_evaluator.reports.comparison_verdicts import about

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.serving.compared_pair import ComparedPair
    from prompt_evaluator.model.comparison import PairedResult
    from prompt_evaluator.model.comparison_findings import PairedFinding
    from prompt_evaluator.stats import Interval

_KINDS: dict[CompareVerdict, str] = {
    "better": "better",
    "worse": "worse",
    "no_difference": "",
    "inconclusive": "unsure",
}


class SideMean(msgspec.Struct, frozen=True, kw_only=True):
    """The mean of one run, in words."""

    text: str
    half: str
    """Half the width of its interval; empty if unknown."""
    interval: str


class MetricLine(msgspec.Struct, frozen=True, kw_only=True):
    """One metric or flag."""

    name: str
    baseline: SideMean
    candidate: SideMean
    difference: str
    interval: str
    dot: tuple[float, float | None, float | None] | None
    """The difference and its interval, as shares of the scale."""
    kind: str
    """What it looks like: better, worse, unsure or nothing."""
    badge: str
    """The verdict in a few words."""
    p: str
    effect: str
    record: str
    notes: tuple[str, ...]
    cases: int
    classes: dict[CaseClass, int] = {}


class MetricTable(msgspec.Struct, frozen=True, kw_only=True):
    """All metrics and flags."""

    metrics: tuple[MetricLine, ...]
    flags: tuple[MetricLine, ...]
    reach: float
    """The ends of the axis: as far to the left of zero as to the right."""
    threshold: float | None
    """The smallest difference that matters, as a share of the scale, if it is the same for all."""


def metric_table(pair: ComparedPair) -> MetricTable:
    """Metrics and flags in the order of the findings: the worst first."""
    of, found = pair.comparison, pair.findings
    spans = {name: (each.scale[1] - each.scale[0]) or 1.0 for name, each in of.metrics.items()}
    metrics = [_metric(each, pair, spans[each.name]) for each in found.metrics]
    flags = [_flag(each, pair) for each in found.flags]
    shown: Sequence[tuple[PairedResult, float]] = [
        *((of.metrics[each.name], spans[each.name]) for each in found.metrics),
        *((of.flags[each.name], 1.0) for each in found.flags),
    ]
    reach = [
        max(abs(value or 0.0) for value in (each.difference, each.low, each.high, each.threshold)) / span
        for each, span in shown
    ]
    thresholds = {round(each.threshold / span, 6) for each, span in shown}
    return MetricTable(
        metrics=tuple(metrics),
        flags=tuple(flags),
        reach=1.05 * max(reach, default=1.0) or 1.0,
        threshold=thresholds.pop() if len(thresholds) == 1 else None,
    )


def _metric(found: PairedFinding, pair: ComparedPair, span: float) -> MetricLine:
    result = pair.comparison.metrics[found.name]
    places = digits(result.scale)
    intervals = pair.cases[found.name].intervals
    sides = [
        _mean(mean, interval, places)
        for mean, interval in zip((result.baseline_mean, result.candidate_mean), intervals, strict=True)
    ]
    return _line(found, result, sides, span, result.case_classes)


def _flag(found: PairedFinding, pair: ComparedPair) -> MetricLine:
    result = pair.comparison.flags[found.name]
    sides = [_share(result.baseline_share), _share(result.candidate_share)]
    return _line(found, result, sides, 1.0, {})


def _line(
    found: PairedFinding, result: PairedResult, sides: list[SideMean], span: float, classes: dict[CaseClass, int]
) -> MetricLine:
    shares = [None if value is None else value / span for value in (result.difference, result.low, result.high)]
    return MetricLine(
        name=found.name,
        baseline=sides[0],
        candidate=sides[1],
        difference=found.difference,
        interval=found.interval,
        dot=None if shares[0] is None else (shares[0], shares[1], shares[2]),
        kind=_KINDS[result.verdict],
        badge=_badge(found, result),
        p=found.p,
        effect=found.effect,
        record=found.record,
        notes=found.notes,
        cases=result.cases,
        classes=classes,
    )


def _badge(found: PairedFinding, result: PairedResult) -> str:
    if result.verdict == "inconclusive" and result.more_cases_needed:
        return f"{found.word} · {many(about(result.more_cases_needed), 'more case')}"
    return found.word


def _mean(mean: float | None, interval: Interval | None, places: int) -> SideMean:
    if mean is None:
        return SideMean(text="not measured", half="", interval="")
    if interval is None:
        return SideMean(text=decimal(mean, places), half="", interval="")
    low, high = interval
    return SideMean(
        text=decimal(mean, places),
        half=decimal((high - low) / 2, places),
        interval=f"{decimal(low, places)} to {decimal(high, places)}",
    )


def _share(share: float | None) -> SideMean:
    return SideMean(text="not measured" if share is None else percent(share), half="", interval="")
