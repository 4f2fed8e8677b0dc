"""Findings other than scores: cases worth a look, errors, cost, and how much the samples can tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.findings import (
    CaseScore,
    ErrorsFinding,
    Facts,
    FailureFinding,
    NotableCase,
    Note,
    UsageFinding,
)
from prompt_evaluator.model.wording import decimal, is_known, kinds, listed, many, money, percent
from prompt_evaluator.reports.levels import digits
from prompt_evaluator.stats import sample_confidence

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.bars import MissedBar
    from prompt_evaluator.model.result import RunResult, RunTotals, WorstCase

_ROUNDING = 1 + 1e-9
"""The mean of equal numbers may differ from them in the last digit."""
_CONFIDENCE = {
    "none": "Spread cannot be measured. Take 2 for a smoke test, 5 for an evaluation.",
    "low": "Good for a smoke test; spread and differences may be due to chance. Take 5 or more for an evaluation.",
    "moderate": "Good for an evaluation; small differences and rare flags may be due to chance. "
    "Take 10 or more for a critical prompt.",
    "high": "Good for a critical prompt. Take 50 or more for production validation.",
    "very high": "Good for production validation.",
}


def facts(plan: RunPlan, result: RunResult) -> Facts:
    return Facts(
        worst=_cases((case for case in result.worst if _is_worse(case, result)), result, _worst_text),
        flakiest=_cases((case for case in result.flakiest if _is_flakier(case, result)), result, _flaky_text),
        errors=_errors(result),
        skipped=_skipped(result),
        parameters=_parameters(plan, result.totals),
        answers=_answers(result.totals),
        missed_bars=tuple(map(_missed, result.missed_bars)),
        judge=_judge(result),
        usage=_usage(result.totals),
        confidence=confidence(plan.num_samples, plan.dataset.selected) if result.overall_metric_stats else None,
    )


def confidence(samples: int, cases: int) -> Note:
    """Return what this number of samples per case can tell, and what it cannot."""
    level = sample_confidence(samples)
    head = "1 sample per case: no confidence." if samples == 1 else f"{samples:,} samples per case: {level} confidence."
    one = " One case says nothing about other inputs." if cases == 1 else ""
    return Note(
        code="confidence",
        text=f"{head} {_CONFIDENCE[level]}{one}",
        values={"level": level, "samples": samples, "cases": cases},
    )


def _cases(
    cases: Iterable[WorstCase], result: RunResult, describe: Callable[[WorstCase, int], str]
) -> tuple[NotableCase, ...]:
    """Group the list by case, so that each case appears once with all its metrics."""
    by_case: dict[str, list[CaseScore]] = {}
    for case in cases:
        stats = result.overall_metric_stats.get(case.metric)
        text = describe(case, digits(stats.scale if stats else None))
        score = CaseScore(metric=case.metric, mean=case.mean, std=case.std, text=text)
        by_case.setdefault(case.test_case_id, []).append(score)
    return tuple(NotableCase(test_case_id=case_id, scores=tuple(scores)) for case_id, scores in by_case.items())


def _is_worse(case: WorstCase, result: RunResult) -> bool:
    """Whether any case is better: if all are equal, or at the top of the scale, none is the worst."""
    stats = result.overall_metric_stats.get(case.metric)
    return stats is None or case.mean < min(stats.max_of_means, stats.scale[1])


def _is_flakier(case: WorstCase, result: RunResult) -> bool:
    """Whether the spread is above the mean of all cases: if all are equal, none is the flakiest."""
    stats = result.overall_metric_stats.get(case.metric)
    return stats is None or stats.std is None or (case.std or 0.0) > stats.std * _ROUNDING


def _worst_text(case: WorstCase, places: int) -> str:
    return f"{case.metric} {decimal(case.mean, places)}"


def _flaky_text(case: WorstCase, places: int) -> str:
    return f"{case.metric} {decimal(case.mean, places)} (std {decimal(case.std or 0.0, places)})"


def _errors(result: RunResult) -> ErrorsFinding | None:
    totals = result.totals
    if not totals.errors and not totals.error_share:
        return None
    tried = sum(number for status, number in totals.samples.items() if status != "pending")
    unscored = tried - totals.samples.get("completed", 0)
    known = {name: count for name, count in totals.errors.items() if is_known(name)}
    named = f": {kinds(known)}" if known else ""
    one, more = ("lacks a", "lack a") if result.overall_metric_stats else ("has no", "have no")
    lacks = f"{one if unscored == 1 else more} score"
    text = f"{unscored:,} of {many(tried, 'sample')} ({percent(totals.error_share)}) {lacks}{named}."
    return ErrorsFinding(
        text=f"{text}{_never_scored(result)}",
        unscored=unscored,
        tried=tried,
        share=totals.error_share,
        kinds=totals.errors,
        failures=tuple(
            FailureFinding(count=each.count, kind=each.kind, metric=each.metric, message=each.message)
            for each in totals.failures
        ),
        reasons=max(totals.reasons, len(totals.failures)),
    )


def _never_scored(result: RunResult) -> str:
    """Name the metrics that failed on every sample, if other metrics have scores."""
    names = [name for name in result.not_measured if name not in result.totals.skipped]
    if not names or not result.overall_metric_stats:
        return ""
    return f" {listed(names)} {'has' if len(names) == 1 else 'have'} no score in any sample."


def _skipped(result: RunResult) -> Note | None:
    """Name the metrics skipped in every case. Others mention skipped samples in their own notes."""
    names = [name for name in result.totals.skipped if name not in result.overall_metric_stats]
    if not names:
        return None
    text = f"{', '.join(names)}: no case has the required fields. See `prompt-evaluator list metrics`."
    return Note(code="skipped", text=text, values={"metrics": names})


def _parameters(plan: RunPlan, totals: RunTotals) -> Note | None:
    """What the user asked for and a model does not take. A default of ours that is not sent needs no remark."""
    generator = None if plan.parent_run_id else plan.target
    configs = [config for config in (generator, plan.judge, *plan.judges.values()) if config]
    texts = []
    for config in configs:
        # The judge's seed is the generator's: nobody asked the judge for one.
        left = [
            f"{each.field} {each.value}"
            for each in config.left_out
            if each.reason != "default" and (each.field != "seed" or config is plan.target)
        ]
        if left:
            were = "it was" if len(left) == 1 else "they were"
            texts.append(f"{config.model} does not take {listed(left)}, so {were} not sent")
        texts += [f"{config.model} takes {name} without effect" for name in config.ignored]
    for name, count in totals.refused_parameters.items():
        texts.append(f"{plan.target.model} refused {name}, so {many(count, 'sample')} went without it")
    texts = list(dict.fromkeys(texts))
    return Note(code="parameters", text=f"{'; '.join(texts)}.", values={"texts": texts}) if texts else None


def _answers(totals: RunTotals) -> Note | None:
    """Answers that are not complete texts; a refusal is one, whoever refused."""
    found = totals.outcomes
    filtered, cut, empty_cut = found.get("filtered", 0), found.get("length", 0), found.get("empty_length", 0)
    texts = []
    if refused := found.get("refused", 0) + filtered:
        texts.append(f"{refused:,} refused{f', {filtered:,} of them filtered' if filtered else ''}")
    if cut:
        before = f", {empty_cut:,} of them before any text" if empty_cut else ""
        texts.append(f"{cut:,} cut by max_tokens{before}: raise --max-tokens")
    if context := found.get("context", 0):
        texts.append(f"{context:,} cut by the context window")
    if empty := found.get("empty", 0):
        texts.append(f"{empty:,} empty")
    if others := found.get("paused", 0) + found.get("other", 0):
        texts.append(f"{others:,} ended in another way")
    return Note(code="answers", text=f"{'; '.join(texts)}.", values=dict(found)) if texts else None


def _missed(bar: MissedBar) -> Note:
    code = "below_bar" if bar.kind == "fail_under" else "above_bar"
    return Note(
        code="unmeasured_bar" if bar.measured is None else code,
        text=bar.reason,
        values={"name": bar.name, "bar": bar.bar, "measured": bar.measured},
    )


def _judge(result: RunResult) -> Note | None:
    spread = {
        name: (stats.repeat_std, digits(stats.scale))
        for name, stats in result.overall_metric_stats.items()
        if stats.repeat_std is not None
    }
    if not spread:
        return None
    values = ", ".join(f"{name} {decimal(std, places)}" for name, (std, places) in spread.items())
    return Note(
        code="judge_disagrees_with_itself",
        text=f"Std between judgements of the same answer: {values}.",
        values={"std": {name: std for name, (std, _) in spread.items()}},
    )


def _usage(totals: RunTotals) -> UsageFinding:
    reused = f"; {many(totals.reused_units, 'answer')} reused" if totals.reused_units else ""
    asked = f"{totals.input_tokens:,} in{cached_share(totals.input_tokens, totals.cached_tokens)}"
    return UsageFinding(
        text=f"{asked}, {totals.output_tokens:,} out; {_cost(totals)}{reused}.{_late(totals)}",
        input_tokens=totals.input_tokens,
        output_tokens=totals.output_tokens,
        cached_tokens=totals.cached_tokens,
        cost=totals.cost,
        unpriced_calls=totals.unpriced_calls,
        time_outs=totals.time_outs,
        reused=totals.reused_units,
    )


def cached_share(tokens: int, cached: int) -> str:
    """Say how much of the input was read from a cache, if any."""
    return f" ({percent(cached / tokens)} cached)" if cached and tokens else ""


def _late(totals: RunTotals) -> str:
    if not totals.time_outs:
        return ""
    return f" {many(totals.time_outs, 'try', 'tries')} timed out and may have been paid for."


def _cost(totals: RunTotals) -> str:
    if totals.cost is None:
        return "cost unknown" if totals.unpriced_calls else "no cost"
    more = f" plus {many(totals.unpriced_calls, 'call')} of unknown price" if totals.unpriced_calls else ""
    return f"{money(totals.cost)}{more}"
