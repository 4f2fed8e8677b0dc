"""Findings about one case, following the dataset guide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from prompt_evaluator.model.findings import CaseFindings, CaseMetricFinding, FlagFinding, Note
from prompt_evaluator.model.wording import decimal, many
from prompt_evaluator.reports.levels import digits
from prompt_evaluator.reports.metrics import ONE_SAMPLE
from prompt_evaluator.stats import flag_band, variability
from prompt_evaluator.stats.bands import wide_range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from prompt_evaluator.model.findings import Mark, Scale

_ALSO_WIDE = 2.5 / 4
"""If the std is high, the guide already calls 2.5 to 5.0 on a scale from 1 to 5 a wide range."""
_WARNINGS = {"high_std", "wide_range", "flaky"}
_WORST_FIRST: tuple[Mark, ...] = ("bad", "warning")


class CaseScores(Protocol):
    """Statistics of one metric in one case, such as `MetricStats`."""

    @property
    def mean(self) -> float: ...
    @property
    def std(self) -> float | None: ...
    @property
    def min(self) -> float: ...
    @property
    def max(self) -> float: ...
    @property
    def count(self) -> int: ...
    @property
    def passed(self) -> int: ...


class FlagCounts(Protocol):
    """How often a flag was raised in one case, such as `FlagStats`."""

    @property
    def true_count(self) -> int: ...
    @property
    def total_count(self) -> int: ...


def case_findings(
    test_case_id: str,
    metrics: Mapping[str, CaseScores],
    flags: Mapping[str, FlagCounts],
    scale_of: Callable[[str], Scale],
) -> CaseFindings:
    """Return all findings about one case.

    Args:
        test_case_id: The case's id.
        metrics: Its statistics by metric.
        flags: Its counts by flag.
        scale_of: Returns the lowest and the highest possible score of a metric.
    """
    scores = tuple(case_metric(name, numbers, scale_of(name)) for name, numbers in metrics.items())
    raised = tuple(case_flag(name, counts) for name, counts in flags.items())
    return CaseFindings(
        test_case_id=test_case_id,
        mark=_worst([*(each.mark for each in scores), *(each.mark for each in raised)]),
        metrics=scores,
        flags=raised,
    )


def case_metric(name: str, scores: CaseScores, scale: Scale) -> CaseMetricFinding:
    level = variability(scores.mean, scores.std, scale)
    notes = (*_spread(name, scores, scale), *_flaky(scores))
    return CaseMetricFinding(
        name=name,
        mark="warning" if any(note.code in _WARNINGS for note in notes) else "good",
        label="HIGH VARIABILITY" if level == "high" else "WIDE RANGE" if _is_wide(notes) else None,
        text=_numbers(name, scores, digits(scale)),
        digits=digits(scale),
        mean=scores.mean,
        std=scores.std,
        min=scores.min,
        max=scores.max,
        count=scores.count,
        variability=level,
        notes=notes,
    )


def _is_wide(notes: Iterable[Note]) -> bool:
    return any(note.code == "wide_range" for note in notes)


def _numbers(name: str, scores: CaseScores, places: int) -> str:
    std = ONE_SAMPLE.text if scores.std is None else f"std={decimal(scores.std, places)}"
    low, high = _ends(scores, places)
    return f"{name}: mean={decimal(scores.mean, places)}, {std}, min={low}, max={high}"


def _ends(scores: CaseScores, places: int) -> tuple[str, str]:
    """Format min and max with one digit fewer than a mean, as in the guide."""
    fewer = max(0, places - 1)
    return decimal(scores.min, fewer), decimal(scores.max, fewer)


def _spread(name: str, scores: CaseScores, scale: Scale) -> Iterator[Note]:
    if scores.std is None:
        yield ONE_SAMPLE
        return
    level = variability(scores.mean, scores.std, scale)
    std = f"({decimal(scores.std, digits(scale))})"
    low, high = _ends(scores, digits(scale))
    if level == "high":
        also = scores.max - scores.min >= _ALSO_WIDE * (scale[1] - scale[0])
        yield _note("high_std", f"High std {std}{f' and wide range ({low}-{high})' if also else ''}", scores)
        yield Note(code="review_samples", text=f"Action: Review samples with low {name} scores")
        yield Note(code="clearer_prompt", text=f"Consider: Lower temperature or add {name} guidelines to prompt")
        return
    if level == "moderate":
        yield _note("moderate_std", f"Moderate std {std} - some variation, but generally acceptable", scores)
    else:
        yield _note("low_std", f"Low std {std} - consistent outputs across samples", scores)
    if wide_range(scores.min, scores.max, scale):
        yield _note("wide_range", f"Wide range ({low}-{high})", scores)


def _note(code: str, text: str, scores: CaseScores) -> Note:
    return Note(code=code, text=text, values={"std": scores.std, "low": scores.min, "high": scores.max})


def _flaky(scores: CaseScores) -> Iterator[Note]:
    if 0 < scores.passed < scores.count:
        text = f"flaky: passes in {scores.passed:,} of {many(scores.count, 'sample')}"
        yield Note(code="flaky", text=text, values={"passed": scores.passed, "samples": scores.count})


def case_flag(name: str, counts: FlagCounts) -> FlagFinding:
    """Return the finding about a flag in one case, without an interval: one case is too few."""
    raised, judged = counts.true_count, counts.total_count
    share = raised / judged if judged else None
    band = None if share is None else flag_band(share)
    words = f"raised in {raised:,} of {many(judged, 'sample')}" if raised else "never raised"
    return FlagFinding(
        name=name,
        mark=None if band is None else "good" if band == "never" else "bad" if band == "majority" else "warning",
        raised=raised,
        judged=judged,
        share=share,
        interval=None,
        no_interval=None,
        band=band,
        text=words if judged else "not judged",
    )


def _worst(marks: Iterable[Mark | None]) -> Mark:
    found = set(marks)
    return next((mark for mark in _WORST_FIRST if mark in found), "good")
