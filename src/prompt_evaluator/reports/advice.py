"""Advice on a result, following the dataset guide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.findings import Note
from prompt_evaluator.model.wording import listed
from prompt_evaluator.reports.levels import COOLER, ENOUGH_FOR_SPREAD, has_poor_cases, is_good, is_poor, is_spread
from prompt_evaluator.stats import variability

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.result import OverallFlag, OverallMetric, RunResult, WorstCase

_NAMED = 3
_MOST_NAMES = 8
_ABOUT_ERRORS = {
    "AuthenticationError": (
        "key_not_accepted",
        "The API key is missing or was rejected: fix it. `prompt-evaluator list providers` shows which keys are set.",
    ),
    "ProxyLoginError": (
        "proxy_login_rejected",
        "The proxy requires a login or rejected it: fix it. `prompt-evaluator list providers` shows where it is set.",
    ),
    "ModelNotFoundError": (
        "no_such_model",
        "The service does not know the model: correct its name and start a new run.",
    ),
    "QuotaExhaustedError": (
        "out_of_quota",
        "The account is out of quota: no call will succeed until that changes.",
    ),
    "RateLimitedError": (
        "rate_limited",
        "The service kept returning 429: lower --max-concurrency or set requests_per_minute.",
    ),
    "TimedOutError": (
        "timed_out",
        "Some calls timed out and may have been paid for: raise the provider's try_timeout or lower --max-tokens.",
    ),
    "DeadlineError": (
        "past_the_deadline",
        "Some calls exceeded their deadline: check the provider's limits.",
    ),
    "InvalidJudgement": (
        "unreadable_judgements",
        "Some of the judge's replies were unreadable: try another judge model.",
    ),
}
"""Code and text by error class, most important first."""
_ABOUT_FLAGS = {
    "majority": ("raised in most samples, a serious problem", "fix the prompt first.", "look at these answers first."),
    "frequent": (
        "raised often, likely a systemic issue",
        "state in the prompt what must not happen.",
        "look for what these answers have in common.",
    ),
    "occasional": ("raised occasionally", *["review these samples; this may be acceptable."] * 2),
}
"""By band: its meaning, the remedy if there is a prompt, and the remedy if there is none."""


def advice(plan: RunPlan, result: RunResult) -> tuple[Note, ...]:
    """Return what applies to this result, most important first; empty if nothing stands out."""
    metrics = result.overall_metric_stats
    return (
        *_about_errors(result),
        *_about_means(plan, metrics),
        *_about_uneven(result),
        *_about_bars(metrics),
        *_about_spread(plan, result),
        *_about_judges(plan, metrics),
        *_about_flags(plan, result.overall_flag_stats),
    )


def _about_errors(result: RunResult) -> Iterator[Note]:
    for kind, (code, text) in _ABOUT_ERRORS.items():
        if count := result.totals.errors.get(kind):
            yield Note(code=code, text=text, values={"count": count})


def _about_means(plan: RunPlan, metrics: dict[str, OverallMetric]) -> Iterator[Note]:
    remedy = "improve the core prompt" if _has_prompt(plan) else "change the model or how it is called"
    poor = [name for name, stats in metrics.items() if is_poor(stats)]
    below = [name for name, stats in metrics.items() if stats.below and not stats.near and name not in poor]
    for code, names, how in (("poor_overall", poor, "poor overall"), ("below_bar", below, "below the bar")):
        if names:
            first = " before looking at individual cases" if plan.dataset.selected > 1 else ""
            text = f"{_listed(names)} {_are(names)} {how}: {remedy}{first}."
            yield Note(code=code, text=text, values={"metrics": names})


def _about_uneven(result: RunResult) -> Iterator[Note]:
    names = [name for name, stats in result.overall_metric_stats.items() if is_good(stats) and has_poor_cases(stats)]
    if not names:
        return
    cases = _first_cases(result.worst, names)
    where = f" ({listed(cases)})" if cases else ""
    text = f"{_listed(names)} {_are(names)} good overall but poor on some cases{where}: "
    yield Note(
        code="uneven",
        text=f"{text}look for what these inputs have in common.",
        values={"metrics": names, "cases": cases},
    )


def _about_bars(metrics: dict[str, OverallMetric]) -> Iterator[Note]:
    near = {name: stats.fail_under for name, stats in metrics.items() if stats.near and stats.fail_under is not None}
    if not near:
        return
    names = _listed([f"{name} ({bar:g})" for name, bar in near.items()])
    verb = "is close to its bar" if len(near) == 1 else "are close to their bars"
    text = f"{names} {verb}: take more samples before deciding."
    yield Note(code="near_bar", text=text, values={"bars": near})


def _about_spread(plan: RunPlan, result: RunResult) -> Iterator[Note]:
    everywhere, somewhere = _spread(result.overall_metric_stats)
    cases = _first_cases((case for case in result.flakiest if _is_high(case, result)), somewhere)
    where = f" of some cases ({listed(cases)})" if cases else " of some cases"
    if everywhere:
        yield _varies("spread", everywhere, [], _against_spread(plan))
    if somewhere:
        yield _varies("spread_in_cases", somewhere, cases, f"{where}{_against_spread(plan)}")


def _is_high(case: WorstCase, result: RunResult) -> bool:
    stats = result.overall_metric_stats.get(case.metric)
    return stats is not None and variability(case.mean, case.std, stats.scale) == "high"


def _varies(code: str, names: list[str], cases: list[str], how: str) -> Note:
    text = f"{_listed(names)} {'varies' if len(names) == 1 else 'vary'} a lot between samples{how}"
    return Note(code=code, text=text, values={"metrics": names, "cases": cases})


def _against_spread(plan: RunPlan) -> str:
    if plan.num_samples < ENOUGH_FOR_SPREAD:
        return f": take {ENOUGH_FOR_SPREAD} per case to see whether this is real."
    temperature = plan.target.temperature
    warm = temperature is not None and temperature > COOLER
    cooler = f"lower the temperature (now {temperature:g}; try {COOLER:g}), or " if warm else ""
    clearer = "make the prompt clearer with examples or constraints" if _has_prompt(plan) else "try another model"
    return f": {cooler}{clearer}."


def _about_judges(plan: RunPlan, metrics: dict[str, OverallMetric]) -> Iterator[Note]:
    everywhere, somewhere = _spread(metrics)
    unsure = [name for name in (*everywhere, *somewhere) if _mostly_the_judges(metrics[name])]
    if unsure:
        text = f"Much of the spread of {_listed(unsure)} comes from the judge: "
        what = "the prompt" if _has_prompt(plan) else "the model"
        text += f"use another judge or raise --judge-repeats before changing {what}."
        yield Note(code="judges_spread", text=text, values={"metrics": unsure})


def _spread(metrics: dict[str, OverallMetric]) -> tuple[list[str], list[str]]:
    """Return the metrics that vary overall, and those that vary only in some cases."""
    everywhere = [name for name, stats in metrics.items() if stats.variability == "high"]
    return everywhere, [name for name, stats in metrics.items() if is_spread(stats) and name not in everywhere]


def _mostly_the_judges(stats: OverallMetric) -> bool:
    return stats.repeat_std is not None and stats.std is not None and stats.repeat_std > stats.std / 2


def _about_flags(plan: RunPlan, flags: dict[str, OverallFlag]) -> Iterator[Note]:
    for band, (meaning, with_prompt, without) in _ABOUT_FLAGS.items():
        text = f"{meaning}: {with_prompt if _has_prompt(plan) else without}"
        names = [name for name, stats in flags.items() if stats.band == band]
        if names:
            yield Note(code=f"flag_{band}", text=f"{_listed(names)} {_are(names)} {text}", values={"flags": names})


def _first_cases(cases: Iterable[WorstCase], metrics: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(case.test_case_id for case in cases if case.metric in metrics))[:_NAMED]


def _has_prompt(plan: RunPlan) -> bool:
    return plan.target.prompt is not None


def _listed(names: Sequence[str]) -> str:
    """All names if they are few; of many, the first and how many there are besides."""
    return listed(
        names if len(names) <= _MOST_NAMES else [*names[: _MOST_NAMES - 1], f"{len(names) - _MOST_NAMES + 1:,} others"]
    )


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
