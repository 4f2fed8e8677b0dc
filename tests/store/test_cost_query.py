"""What the analysis of costs asks of the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import case_result, failed_sample, sample

from prompt_evaluator.model.result import MetricScore
from prompt_evaluator.store.cost_query import CaseCost, JudgedSums, Spent

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import Unit
    from prompt_evaluator.model.result import SampleResult
    from prompt_evaluator.store import Store

SCORED = MetricScore(status="scored", score=1.0, passed=True, reason="")
MISSED = MetricScore(status="scored", score=0.0, passed=False, reason="")
SKIPPED = MetricScore(status="skipped", score=None, passed=None, reason="no reference")
UNPRICED: dict[str, Any] = {"cost": None, "judge_cost": None, "input_tokens": None, "judge_output_tokens": None}


def add(store: Store, run_id: str, *cases: tuple[SampleResult, ...]) -> None:
    writer = store.writer(run_id)
    for at, samples in enumerate(cases):
        writer.put_case(at, case_result(f"case-{at}", samples=samples), {"clarity": "openai/judge"})
    writer.close()


def test_sums_are_of_all_samples_that_have_been_tried(store: Store, run_id: str) -> None:
    add(
        store,
        run_id,
        (sample(number=0), sample(number=1, reused=True, tries=3)),
        (sample("case-1", cost=None), failed_sample("case-1", 1), sample("case-1", 2, status="pending", attempt=0)),
    )

    sums = store.sample_sums(run_id)

    assert sums.samples == 4
    assert (sums.cost, sums.judge_cost, sums.unpriced) == (0.5, 1.5, 1)
    assert (sums.input_tokens, sums.output_tokens, sums.judge_input_tokens) == (40, 20, 80)


def test_a_judged_sample_without_a_price_is_counted_and_one_without_a_judge_is_not(store: Store, run_id: str) -> None:
    add(store, run_id, (sample(**UNPRICED), sample(number=1), sample(number=2, judge_metrics={}, **UNPRICED)))

    assert store.judged_sums(run_id) == JudgedSums(1, 1)
    assert store.sample_sums(run_id).without_tokens == 2


def test_the_most_expensive_cases_come_first_and_unpriced_ones_are_not_among_them(store: Store, run_id: str) -> None:
    add(store, run_id, (sample(cost=1.0),), (sample(cost=3.0),), (sample(**UNPRICED),), (sample(cost=3.0),))

    assert store.most_expensive(run_id, 2) == [CaseCost("case-1", 3.5), CaseCost("case-3", 3.5)]
    assert len(store.most_expensive(run_id, 10)) == 3
    mean, priced, unpriced = store.case_costs(run_id)
    assert (priced, unpriced) == (3, 1)
    assert mean == pytest.approx(8.5 / 3)
    assert store.case_cost(run_id) == 8.5


def test_a_run_without_results_has_no_costs(store: Store, run_id: str) -> None:
    sums = store.sample_sums(run_id)

    assert (sums.samples, sums.cost, sums.input_tokens) == (0, None, None)
    assert (store.case_cost(run_id), store.case_costs(run_id)) == (None, (None, 0, 0))


def test_what_a_run_has_used_up_is_every_call_but_those_it_reuses(
    store: Store, run_id: str, unit: Callable[..., Unit]
) -> None:
    nothing = store.spent(run_id)
    paid = [
        {"answer": {"text": "a", "cost": 0.5, "tries": 2}, "failure": None},
        {"answer": None, "failure": {"kind": "timeout", "message": "", "tries": 3, "cost": 0.0625}},
        {"metric": "clarity", "replies": [{"cost": 0.25, "tries": 1}, {"cost": None, "tries": 1}]},
        {"metric": "exact_match", "scores": {}, "failed_cost": 0.125},
        {"metric": "exact_match", "scores": {}, "failed_cost": 9.0, "reused": True},
        {"answer": {"text": "a", "cost": 9.0, "tries": 1}, "reused": True},
    ]
    writer = store.writer(run_id)
    for at, data in enumerate(paid):
        writer.put(unit(name=b"%d" % at, sample=at, data=msgspec.json.encode(data)))
    writer.close()

    assert (nothing, store.spent(run_id)) == (Spent(0, 0.0), Spent(7, 0.75 + 0.0625 + 0.125))
