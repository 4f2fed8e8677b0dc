"""How large the next runs should be."""

from __future__ import annotations

from random import Random

import pytest
from compared_runs import MemoryRun, drawn, of_metric

from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.gate.planning import gate_plan
from prompt_evaluator.model.gate import GatePlan, GatePolicy

CENTRES = [2.4 + at % 20 / 9 for at in range(50)]


def scale(_name: str) -> tuple[float, float]:
    return (1.0, 5.0)


def planned(given: MemoryRun, policy: GatePolicy) -> GatePlan:
    return gate_plan(given.facts, given.batches(), policy, scale)


def test_an_unknown_metric_is_an_error() -> None:
    given = of_metric(drawn(Random(1), CENTRES, 2))

    with pytest.raises(UnknownNameError):
        planned(given, GatePolicy(metrics={"quallity": None}))


def test_a_plan_says_how_many_cases_or_samples_are_enough() -> None:
    found = planned(of_metric(drawn(Random(1), CENTRES, 4)), GatePolicy()).metrics["quality"]

    assert found.cases_needed is not None
    assert found.samples_needed is not None
    assert found.passes == (found.cases_needed <= 50)
    needed = [size.cases for size in found.sizes if size.cases is not None]
    assert needed == sorted(needed, reverse=True)
    assert not found.from_one_sample


def test_a_run_of_the_planned_size_passes_four_times_in_five_if_nothing_changed() -> None:
    from gated_runs import METRICS_ONLY, gated  # noqa: PLC0415 - for this one

    plan = planned(of_metric(drawn(Random(1), CENTRES, 4)), GatePolicy()).metrics["quality"]
    assert plan.cases_needed is not None
    centres = [2.4 + at % 20 / 9 for at in range(plan.cases_needed)]

    verdicts = [
        gated(of_metric(drawn(random, centres, 4)), of_metric(drawn(random, centres, 4)), METRICS_ONLY).verdict
        for random in map(Random, range(60))
    ]

    assert 40 <= verdicts.count("pass") <= 56


def test_the_spread_of_single_samples_is_marked_as_an_upper_limit() -> None:
    found = planned(of_metric(drawn(Random(1), CENTRES, 1)), GatePolicy()).metrics["quality"]

    assert found.from_one_sample
    assert found.cases_needed is not None


def test_cases_without_any_spread_need_as_many_as_rule_out_the_margin() -> None:
    found = planned(of_metric([[3.0, 3.0]] * 10), GatePolicy()).metrics["quality"]

    assert found.cases_needed == 119
    assert found.samples_needed is None
    assert not found.passes
