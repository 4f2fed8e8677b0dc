"""Findings about metrics over all cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.findings import MetricFinding, Note
from prompt_evaluator.model.wording import decimal, many
from prompt_evaluator.reports.levels import digits, few_pass, is_poor, is_spread
from prompt_evaluator.stats import FEWEST_CASES
from prompt_evaluator.stats.bands import wide_range

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prompt_evaluator.model.findings import Mark
    from prompt_evaluator.model.result import OverallMetric, RunResult

TOO_FEW_CASES = Note(code="too_few_cases", text=f"needs {FEWEST_CASES} cases", values={"needed": FEWEST_CASES})
ONE_SAMPLE = Note(code="one_sample", text="one sample")
NO_SCORES = Note(code="no_scores", text="No scores: no sample was judged.")
_ALL_THE_SAME = Note(code="all_the_same", text="all the same")


def metric_findings(result: RunResult) -> tuple[MetricFinding, ...]:
    """Return findings in the result's order."""
    tried = sum(number for status, number in result.totals.cases.items() if status != "pending")
    return tuple(_finding(name, stats, tried) for name, stats in result.overall_metric_stats.items())


def _finding(name: str, stats: OverallMetric, tried: int) -> MetricFinding:
    return MetricFinding(
        name=name,
        mark=_mark(stats),
        scale=stats.scale,
        digits=digits(stats.scale),
        mean=stats.mean_of_means,
        cases=stats.num_cases,
        pass_rate=stats.pass_rate,
        interval=stats.interval,
        no_interval=None if stats.interval else _no_interval(stats),
        std=stats.std,
        no_std=ONE_SAMPLE if stats.std is None else None,
        variability=stats.variability,
        case_means=(stats.min_of_means, stats.max_of_means),
        notes=(*_quality(stats), *_stability(stats), *_coverage(stats, tried)),
    )


def _mark(stats: OverallMetric) -> Mark:
    if stats.below or is_poor(stats):
        return "bad"
    doubtful = (stats.near, is_spread(stats), stats.bounds, stats.flaky_cases, stats.wide_range_cases, few_pass(stats))
    return "warning" if any(doubtful) else "good"


def _no_interval(stats: OverallMetric) -> Note:
    return TOO_FEW_CASES if stats.num_cases < FEWEST_CASES else _ALL_THE_SAME


def _quality(stats: OverallMetric) -> Iterator[Note]:
    if is_poor(stats):
        yield Note(code="poor", text="poor")
    if stats.below or stats.near:
        code, text = _about_bar(stats)
        yield Note(code=code, text=text, values={"bar": stats.fail_under, "mean": stats.mean_of_means})


def _about_bar(stats: OverallMetric) -> tuple[str, str]:
    bar = f"{stats.fail_under:g}"
    if not stats.near:
        return "below_bar", f"below {bar}"
    if stats.below:
        return "just_below_bar", f"just below {bar}, may be due to chance"
    return "near_bar", f"above {bar}, but close to it"


def _stability(stats: OverallMetric) -> Iterator[Note]:
    if cases := stats.high_variability_cases:
        yield Note(code="high_variability", text=f"high variability in {many(cases, 'case')}", values={"cases": cases})
    elif stats.variability == "high":
        yield Note(code="high_variability", text="high variability")
    if stats.flaky_cases:
        text = many(stats.flaky_cases, "flaky case")
        yield Note(code="flaky", text=text, values={"cases": stats.flaky_cases})
    if cases := stats.wide_range_cases:
        yield Note(code="wide_range_in_cases", text=f"wide range in {many(cases, 'case')}", values={"cases": cases})
    if wide_range(stats.min_of_means, stats.max_of_means, stats.scale):
        yield Note(
            code="wide_range",
            text="wide range between cases",
            values={"low": stats.min_of_means, "high": stats.max_of_means},
        )


def _coverage(stats: OverallMetric, tried: int) -> Iterator[Note]:
    """Describe reduced scores, and which samples and cases the numbers leave out."""
    places = digits(stats.scale)
    for reducer, value in stats.reduced.items():
        yield Note(
            code="reduced", text=f"{reducer} {decimal(value, places)}", values={"reducer": reducer, "value": value}
        )
    if stats.skipped:
        text = f"{many(stats.skipped, 'sample')} skipped"
        yield Note(code="skipped", text=text, values={"samples": stats.skipped})
    if stats.num_cases < tried:
        yield Note(
            code="not_all_scored",
            text=f"scored in {stats.num_cases:,} of {many(tried, 'case')}",
            values={"scored": stats.num_cases, "cases": tried},
        )
    if stats.bounds:
        low, high = stats.bounds
        text = f"{decimal(low, places)} to {decimal(high, places)} depending on the missing scores"
        yield Note(code="bounds", text=text, values={"low": low, "high": high})
