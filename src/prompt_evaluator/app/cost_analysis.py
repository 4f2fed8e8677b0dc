"""Where the money of a run went, from its result rows."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from prompt_evaluator.app.run_queries import interrupted_runs
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.cost import (
    CallCost,
    CaseCosts,
    CostAnalysis,
    CostlyCase,
    ErrorCosts,
    Latencies,
    MetricCost,
    ReusedSamples,
)

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.store import Store
    from prompt_evaluator.store.cost_query import SampleSums

_LISTED = 10


def cost_analysis(settings: Settings, run_id: str) -> CostAnalysis:
    """What a run cost, split and set against what it measured. Of a run in progress, what is known so far.

    Raises:
        UnknownNameError: There is no such run.
    """
    with closing(open_store(settings)) as store:
        return _analysis(store, store.run_line(run_id, interrupted=interrupted_runs(store)))


def per_point(amount: float | None, samples: int, mean: float) -> float | None:
    """An amount for a sample, divided by the mean score; None if it is not known or there are no points."""
    return amount / samples / mean if amount is not None and samples and mean > 0 else None


def _analysis(store: Store, line: RunLine) -> CostAnalysis:
    run_id = line.run_id
    sums, passed = store.sample_sums(run_id), store.passed_samples(run_id)
    cost = _sum(sums.cost, sums.judge_cost)
    totals = line.summary.totals if line.summary else None
    return CostAnalysis(
        run_id=run_id,
        status=line.status,
        synthetic=bool(line.synthetic),
        samples=sums.samples,
        passed_samples=passed,
        paid=totals.cost if totals else None,
        unpriced_calls=totals.unpriced_calls if totals else 0,
        time_outs=totals.time_outs if totals else 0,
        cost=cost,
        generator=_generator(sums),
        judge=_judge(store, run_id, sums) if line.judge_hash else None,
        answers=sums.answers,
        tries=sums.tries,
        cases=_cases(store, run_id),
        most_expensive=_most_expensive(store, run_id, cost),
        cost_per_sample=cost / sums.samples if cost is not None and sums.samples else None,
        cost_per_passed_sample=cost / passed if cost is not None and passed else None,
        metrics=_metrics(line, sums, cost),
        errors=_errors(sums),
        reused=ReusedSamples(samples=sums.reused, share=sums.reused / sums.samples if sums.samples else None),
        latency=_latency(store, run_id, sums),
    )


def _generator(sums: SampleSums) -> CallCost:
    return CallCost(
        cost=sums.cost,
        unpriced_samples=sums.unpriced,
        input_tokens=sums.input_tokens,
        output_tokens=sums.output_tokens,
        samples_without_tokens=sums.without_tokens,
    )


def _judge(store: Store, run_id: str, sums: SampleSums) -> CallCost:
    judged = store.judged_sums(run_id)
    return CallCost(
        cost=sums.judge_cost,
        unpriced_samples=judged.unpriced,
        input_tokens=sums.judge_input_tokens,
        output_tokens=sums.judge_output_tokens,
        samples_without_tokens=judged.without_tokens,
    )


def _cases(store: Store, run_id: str) -> CaseCosts:
    known, mean, unknown = store.case_costs(run_id)
    median, p95, highest = store.case_cost_quantiles(run_id, (0.5, 0.95, 1.0)) or (None, None, None)
    return CaseCosts(mean=mean, median=median, p95=p95, max=highest, cases=known, unpriced_cases=unknown)


def _most_expensive(store: Store, run_id: str, total: float | None) -> tuple[CostlyCase, ...]:
    found = store.most_expensive(run_id, _LISTED)
    return tuple(
        CostlyCase(case_id=case_id, cost=cost, share=cost / total if total else None) for case_id, cost in found
    )


def _metrics(line: RunLine, sums: SampleSums, cost: float | None) -> dict[str, MetricCost]:
    measured = line.summary.overall_metric_stats if line.summary else {}
    tokens = _sum(*(sums.input_tokens, sums.output_tokens, sums.judge_input_tokens, sums.judge_output_tokens))
    return {
        name: MetricCost(
            mean=stats.mean_of_means,
            scale=stats.scale,
            cost_per_point=per_point(cost, sums.samples, stats.mean_of_means),
            tokens_per_point=per_point(tokens, sums.samples, stats.mean_of_means),
        )
        for name, stats in measured.items()
    }


def _errors(sums: SampleSums) -> ErrorCosts:
    cost = sums.error_cost if sums.errors else 0.0
    return ErrorCosts(samples=sums.errors, cost=cost, unpriced_samples=sums.errors_unpriced)


def _latency(store: Store, run_id: str, sums: SampleSums) -> Latencies:
    middle, p95 = store.latency_quantiles(run_id, (0.5, 0.95)) or (None, None)
    return Latencies(mean=sums.latency, p50=middle, p95=p95, samples=sums.latencies)


def _sum(*parts: float | None) -> float | None:
    known = [part for part in parts if part is not None]
    return sum(known) if known else None
