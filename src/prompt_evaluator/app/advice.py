"""What the dataset guide says about a result, in sentences: what the numbers can tell, and what to do next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.stats import sample_confidence

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.result import OverallFlag, OverallMetric, RunResult

ENOUGH_FOR_SPREAD = 10
"""Samples a case from which on the guide takes a high spread for real."""
_COOLER = 0.3
_GOOD, _POOR = 0.75, 0.5
"""Shares of a scale: from 4 up and below 3 on a scale from 1 to 5."""
_NAMED = 3

_CONFIDENCE = {
    "none": "It says nothing about spread. Take 2 for a smoke test, 5 for an evaluation.",
    "low": "Good for a smoke test; a spread or a difference may be chance. Take 5 or more for an evaluation.",
    "moderate": "Good for an evaluation; a small difference or a rare flag may be chance. "
    "Take 10 or more for a critical prompt.",
    "high": "Good for a critical prompt. Take 50 or more to validate for production.",
    "very high": "Good for validating for production.",
}
_ABOUT_ERRORS = {
    "AuthenticationError": "The key is missing or not accepted: `prompt-evaluator providers` lists which are there.",
    "ModelNotFoundError": "The service does not know the model: check its name.",
    "QuotaExhaustedError": "The account is out of quota: nothing will be answered before that changes.",
    "RateLimitedError": "The service kept saying 429: lower --max-concurrency, or set requests_per_minute.",
    "DeadlineError": "Some calls took longer than their deadline allows: see the provider's limits.",
    "InvalidJudgement": "The judge gave replies that cannot be read: try another judge model.",
}


def confidence(samples: int, cases: int) -> str:
    """What so many samples a case can tell, and what they cannot."""
    level = sample_confidence(samples)
    head = "1 sample a case: no confidence." if samples == 1 else f"{samples:,} samples a case: {level} confidence."
    one = " One case tells about itself only." if cases == 1 else ""
    return f"{head} {_CONFIDENCE[level]}{one}"


def advice(plan: RunPlan, result: RunResult) -> list[str]:
    """Sentences that apply to this result, the most important first; none when nothing stands out."""
    metrics = result.overall_metric_stats
    return [
        *_about_errors(result),
        *_about_means(result),
        *_about_bars(metrics),
        *_about_spread(plan, result),
        *_about_flags(result.overall_flag_stats),
    ]


def _about_errors(result: RunResult) -> list[str]:
    return [text for kind, text in _ABOUT_ERRORS.items() if kind in result.totals.errors]


def _about_means(result: RunResult) -> list[str]:
    metrics = result.overall_metric_stats
    poor = [name for name, stats in metrics.items() if is_poor(stats)]
    below = [name for name, stats in metrics.items() if stats.below and not stats.near]
    core = "improve the core prompt before looking at single cases."
    found = [
        f"{listed(names)} {'is' if len(names) == 1 else 'are'} {how}: {core}"
        for names, how in ((poor, "poor overall"), ([name for name in below if name not in poor], "below the bar"))
        if names
    ]
    uneven = [name for name, stats in metrics.items() if is_good(stats) and has_poor_cases(stats)]
    if uneven:
        cases = list(dict.fromkeys(case.test_case_id for case in result.worst if case.metric in uneven))
        where = f" ({listed(cases[:_NAMED])})" if cases else ""
        number = "is" if len(uneven) == 1 else "are"
        found.append(
            f"{listed(uneven)} {number} good overall and poor on some cases{where}: "
            "look for what these inputs have in common."
        )
    return found


def _about_bars(metrics: dict[str, OverallMetric]) -> list[str]:
    near = [f"{name} ({stats.fail_under:g})" for name, stats in metrics.items() if stats.near]
    if not near:
        return []
    number = "is close to its bar" if len(near) == 1 else "are close to their bars"
    return [f"{listed(near)} {number}: take more samples before you decide."]


def _about_spread(plan: RunPlan, result: RunResult) -> list[str]:
    metrics = result.overall_metric_stats
    everywhere = [name for name, stats in metrics.items() if stats.variability == "high"]
    somewhere = [name for name, stats in metrics.items() if is_spread(stats) and name not in everywhere]
    cases = list(dict.fromkeys(case.test_case_id for case in result.flakiest if case.metric in somewhere))
    where = f" in single cases ({listed(cases[:_NAMED])})" if cases else " in single cases"
    found = [
        f"{listed(names)} {'varies' if len(names) == 1 else 'vary'} a lot{place}{_about_high_spread(plan)}"
        for names, place in ((everywhere, ""), (somewhere, where))
        if names
    ]
    unsure = [name for name in (*everywhere, *somewhere) if _mostly_the_judges(metrics[name])]
    if unsure:
        found.append(
            f"Much of the spread of {listed(unsure)} is the judge's own: "
            "use another judge, or raise --judge-repeats, before changing the prompt."
        )
    return found


def _about_high_spread(plan: RunPlan) -> str:
    if plan.num_samples < ENOUGH_FOR_SPREAD:
        return f", on few samples: take {ENOUGH_FOR_SPREAD} to see whether it is real."
    temperature = plan.target.temperature
    warm = temperature is not None and temperature > _COOLER
    cooler = f"lower the temperature (it is {temperature:g}; try {_COOLER:g}), or " if warm else ""
    return f" between samples: {cooler}make the prompt clearer with examples or constraints."


def _mostly_the_judges(stats: OverallMetric) -> bool:
    return stats.repeat_std is not None and stats.std is not None and stats.repeat_std > stats.std / 2


def _about_flags(flags: dict[str, OverallFlag]) -> list[str]:
    texts = {
        "majority": "raised in most samples, a serious problem: fix the prompt first.",
        "frequent": "raised often, likely a systemic issue: say in the prompt what must not happen.",
        "occasional": "raised now and then: review these samples; it may be acceptable.",
    }
    found = []
    for band, text in texts.items():
        names = [name for name, stats in flags.items() if stats.band == band]
        if names:
            found.append(f"{listed(names)} {'is' if len(names) == 1 else 'are'} {text}")
    return found


def is_spread(stats: OverallMetric) -> bool:
    """Whether samples differ more than the guide accepts, over all or in single cases."""
    return stats.variability == "high" or bool(stats.high_variability_cases)


def is_poor(stats: OverallMetric) -> bool:
    return _level(stats, stats.mean_of_means) < _POOR


def is_good(stats: OverallMetric) -> bool:
    return not stats.below if stats.fail_under is not None else _level(stats, stats.mean_of_means) >= _GOOD


def has_poor_cases(stats: OverallMetric) -> bool:
    if stats.fail_under is not None and stats.min_of_means < stats.fail_under:
        return True
    return _level(stats, stats.min_of_means) < _POOR


def _level(stats: OverallMetric, value: float) -> float:
    low, high = stats.scale
    return (value - low) / (high - low) if high > low else 1.0


def listed(names: Iterable[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
