"""The end of a run, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from prompt_evaluator.stats import sample_confidence
from prompt_evaluator.store.artifacts import RunFolder

if TYPE_CHECKING:
    from prompt_evaluator.app.runs import Outcome
    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.result import OverallFlag, OverallMetric, RunResult, WorstCase

_FLAG_WORDS = {
    "never": "never raised",
    "rare": "rare",
    "occasional": "occasional: look at these samples",
    "frequent": "frequent: likely a systemic issue",
    "majority": "in most samples: a serious problem",
}


def print_summary(outcome: Outcome) -> None:
    """Everything a person wants to know first, and where to look next."""
    record, result = outcome.record, outcome.result
    plan = record.plan
    if result is None:
        click.echo(f"Run {plan.run_id} had ended before: {record.status}. Nothing was missing, nothing was paid for.")
        click.echo(f"Results: {RunFolder(record).main_file}")
        return
    tag = click.style("  SYNTHETIC: made up offline by the mock", fg="yellow") if plan.synthetic else ""
    click.echo(f"Run {click.style(plan.run_id, bold=True)}: {_status(record.status)}{tag}")
    click.echo(
        f"{plan.dataset.selected} cases × {plan.num_samples} samples of {plan.generator.model}{_judged_by(plan)}"
    )
    click.echo()
    _print_metrics(result)
    _print_flags(result)
    _print_cases(result)
    _print_totals(result, plan)
    click.echo()
    click.echo(f"Results: {RunFolder(record).main_file}")
    click.echo(f"Next:    {_next(outcome)}")


def _judged_by(plan: RunPlan) -> str:
    return f", judged by {plan.judge.model} with the rubric {plan.rubric.name}" if plan.judge and plan.rubric else ""


def _print_metrics(result: RunResult) -> None:
    if not result.overall_metric_stats:
        click.echo("No scores: no sample was judged.")
        return
    width = max(len(name) for name in result.overall_metric_stats)
    for name, stats in result.overall_metric_stats.items():
        click.echo(f"  {name:{width}}  {_mean(stats)}  {_marks(stats)}".rstrip())


def _mean(stats: OverallMetric) -> str:
    interval = f"[{stats.interval[0]:.2f}, {stats.interval[1]:.2f}]" if stats.interval else "[one case: no interval]"
    spread = "std    -" if stats.std is None else f"std {stats.std:.2f}"
    return f"mean {stats.mean_of_means:.2f}  95 % {interval}  {spread}"


def _marks(stats: OverallMetric) -> str:
    marks = []
    if stats.variability == "high" or stats.high_variability_cases:
        cases = "case" if stats.high_variability_cases == 1 else "cases"
        marks.append(click.style(f"⚠ high variability in {stats.high_variability_cases} {cases}", fg="yellow"))
    elif stats.variability:
        marks.append(f"✓ {stats.variability} variability")
    if stats.below:
        marks.append(click.style(f"✗ below {stats.fail_under:g}", fg="red"))
    if stats.near:
        marks.append(click.style(f"close to {stats.fail_under:g}: take more samples", fg="yellow"))
    if stats.bounds:
        marks.append(f"between {stats.bounds[0]:.2f} and {stats.bounds[1]:.2f} if every error had a score")
    return ", ".join(marks)


def _print_flags(result: RunResult) -> None:
    width = max((len(name) for name in result.overall_flag_stats), default=0)
    for name, stats in result.overall_flag_stats.items():
        click.echo(f"  {name:{width}}  {_flag(stats)}")


def _flag(stats: OverallFlag) -> str:
    if stats.true_proportion is None:
        return "not judged"
    return f"{stats.true_count}/{stats.total_count} ({stats.true_proportion:.0%})  {_FLAG_WORDS[stats.band or 'never']}"


def _print_cases(result: RunResult) -> None:
    for label, cases in (("worst case", result.worst), ("flakiest", result.flakiest)):
        if cases:
            click.echo(f"  {label}: {_case(cases[0])}")


def _case(case: WorstCase) -> str:
    spread = "" if case.std is None else f", std {case.std:.2f}"
    return f"{case.test_case_id} ({case.metric} {case.mean:.2f}{spread})"


def _print_totals(result: RunResult, plan: RunPlan) -> None:
    totals = result.totals
    if totals.errors:
        kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(totals.errors.items()))
        click.echo(click.style(f"  errors: {totals.error_share:.1%} of samples have no score ({kinds})", fg="yellow"))
    cost = "cost unknown" if totals.cost is None else f"${totals.cost:,.4f}"
    unpriced = f" and {totals.unpriced_calls:,} calls of unknown price" if totals.cost and totals.unpriced_calls else ""
    reused = f", {totals.reused_units:,} answers taken over" if totals.reused_units else ""
    click.echo(f"  {totals.input_tokens:,} tokens in, {totals.output_tokens:,} out, {cost}{unpriced}{reused}")
    click.echo(f"  confidence at {plan.num_samples} samples a case: {sample_confidence(plan.num_samples)}")


def _status(status: str) -> str:
    colour = {"completed": "green", "partial": "yellow"}.get(status, "red")
    return click.style(status, fg=colour)


def _next(outcome: Outcome) -> str:
    plan, result = outcome.record.plan, outcome.result
    if outcome.record.status == "aborted":
        return f"prompt-evaluator resume {plan.run_id}"
    if result and result.totals.errors:
        return f"prompt-evaluator resume {plan.run_id} --retry-errors"
    if plan.num_samples < 5:  # noqa: PLR2004 - the guide's smallest full run
        return "run it again with --num-samples 5 for numbers that can be trusted"
    if result and any(stats.variability == "high" for stats in result.overall_metric_stats.values()):
        return "run it again with --num-samples 10, or with --temperature 0.3, and compare"
    return f"prompt-evaluator score {plan.run_id} --rubric content-quality"
