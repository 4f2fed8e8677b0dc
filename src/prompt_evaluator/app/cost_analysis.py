"""Where the money of a run went, from its result rows."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from prompt_evaluator.app.run_queries import interrupted_runs
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.model.cost import CallCost, CaseCosts, CostAnalysis, CostlyCase

if TYPE_CHECKING:
    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.query import RunLine
    from prompt_evaluator.store import Store
    from prompt_evaluator.store.cost_query import SampleSums

_LISTED = 10


def cost_analysis(settings: Settings, run_id: str) -> CostAnalysis:
    """What a run cost, in total and by case. Of a run in progress, what is known so far.

    Raises:
        UnknownNameError: There is no such run.
    """
    with closing(open_store(settings)) as store:
        return _analysis(store, store.run_line(run_id, interrupted=interrupted_runs(store)))


def _analysis(store: Store, line: RunLine) -> CostAnalysis:
    sums = store.sample_sums(line.run_id)
    known = [part for part in (sums.cost, sums.judge_cost) if part is not None]
    cost = sum(known) if known else None
    mean, priced, unpriced = store.case_costs(line.run_id)
    totals = line.summary.totals if line.summary else None
    return CostAnalysis(
        run_id=line.run_id,
        status=line.status,
        synthetic=bool(line.synthetic),
        samples=sums.samples,
        paid=totals.cost if totals else None,
        unpriced_calls=totals.unpriced_calls if totals else 0,
        time_outs=totals.time_outs if totals else 0,
        cost=cost,
        generator=_generator(sums),
        judge=_judge(store, line.run_id, sums) if line.judge_hash else None,
        cases=CaseCosts(mean=mean, cases=priced, unpriced_cases=unpriced),
        most_expensive=tuple(
            CostlyCase(case_id=case_id, cost=each, share=each / cost if cost else None)
            for case_id, each in store.most_expensive(line.run_id, _LISTED)
        ),
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
