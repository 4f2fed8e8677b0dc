"""A page of the compared cases of one metric, with the samples of both runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.model.comparison import CLASSES, CaseClass, CaseScores
from prompt_evaluator.model.wording import many, p_value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.app.serving.compare_filter import Kept
    from prompt_evaluator.app.serving.compared_pair import MetricCases
    from prompt_evaluator.ports import ComparedRun

PAGE = 50
"""Cases on a page."""
_MOST_TICKS = 60
_LOOKS_SURE = 0.05
_CHANCE = {
    "worse": "unlikely to be chance",
    "better": "unlikely to be chance",
    "same": "may be chance",
    "too_few": "fewer than 3 samples",
}
Tick = tuple[float | None, Literal["pass", "fail", "error"]]


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """One case in one run."""

    mean: float
    ticks: tuple[Tick, ...]
    """One for each sample, as far as they are known."""
    passes: int | None
    count: int
    missing: int


class CaseRow(msgspec.Struct, frozen=True, kw_only=True):
    """One case in both runs."""

    case_id: str
    baseline: Side
    candidate: Side
    difference: float
    class_: CaseClass
    evidence: str
    """The p value, and what it means."""


class CasePage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of cases."""

    rows: tuple[CaseRow, ...]
    matching: int
    start: int
    previous: int | None
    """Where the page before starts."""
    next: int | None


def matching_places(kept: Kept, changed: str | None) -> list[int]:
    """The places of the cases that match, the most certain change first."""
    places: list[int] = kept.all.nonzero()[0].tolist()
    return places[::-1] if changed == "better" else places


def case_page(
    cases: MetricCases, places: Sequence[int], start: int, runs: tuple[ComparedRun, ComparedRun], metric: str
) -> CasePage:
    """The cases from `start` on; `places` are all that match."""
    shown = places[start : start + PAGE]
    ids = [cases.ids[at] for at in shown]
    before, after = (run.find(ids) for run in runs)
    rows = []
    for at, case_id in zip(shown, ids, strict=True):
        sides = [found[case_id].scores.get(metric) if case_id in found else None for found in (before, after)]
        rows.append(row_of(cases, at, sides[0], sides[1]))
    return CasePage(
        rows=tuple(rows),
        matching=len(places),
        start=start,
        previous=max(0, start - PAGE) if start else None,
        next=start + PAGE if start + PAGE < len(places) else None,
    )


def row_of(cases: MetricCases, at: int, before: CaseScores | None, after: CaseScores | None) -> CaseRow:
    """The case at a place of the order, with its scores in both runs."""
    baseline, candidate = float(cases.baseline[at]), float(cases.candidate[at])
    class_ = CLASSES[cases.classes[at]]
    return CaseRow(
        case_id=cases.ids[at],
        baseline=side_of(baseline, before),
        candidate=side_of(candidate, after),
        difference=candidate - baseline,
        class_=class_,
        evidence=evidence(class_, float(cases.p_values[at]), len(cases.ids)),
    )


def evidence(class_: CaseClass, p: float, among: int) -> str:
    """How strong the evidence for a change of one case is, in words. Among many cases, some look changed by chance."""
    if math.isnan(p):
        return _CHANCE[class_]
    if p == 1:
        return "equal"
    many_cases = f" among {many(among, 'case')}" if class_ == "same" and p < _LOOKS_SURE and among > 1 else ""
    return f"{p_value(p)}, {_CHANCE[class_]}{many_cases}"


def side_of(mean: float, scores: CaseScores | None) -> Side:
    """One case in one run. Higher scores pass first, so the lowest are those that do not."""
    if scores is None:
        return Side(mean=mean, ticks=(), passes=None, count=0, missing=0)
    values = sorted(scores.values or ())
    failing = len(values) - scores.passes if scores.passes is not None else 0
    ticks: list[Tick] = [(value, "fail" if at < failing else "pass") for at, value in enumerate(values)]
    ticks += [(None, "error")] * scores.missing
    return Side(
        mean=mean, ticks=tuple(ticks[:_MOST_TICKS]), passes=scores.passes, count=scores.count, missing=scores.missing
    )
