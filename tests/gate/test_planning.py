"""A run compared with itself, and how large the next ones should be."""

from __future__ import annotations

from random import Random

import pytest
from compared_runs import MemoryRun, case, drawn, of_metric, run

from prompt_evaluator.errors import IncomparableError, UnknownNameError
from prompt_evaluator.gate.planning import gate_plan
from prompt_evaluator.gate.self_test import self_test
from prompt_evaluator.model.gate import GatePlan, GatePolicy, SelfTest

CENTRES = [2.4 + at % 20 / 9 for at in range(50)]


def scale(_name: str) -> tuple[float, float]:
    return (1.0, 5.0)


def self_tested(given: MemoryRun, policy: GatePolicy) -> SelfTest:
    return self_test(given.facts, given.batches(), policy, scale)


def planned(given: MemoryRun, policy: GatePolicy) -> GatePlan:
    return gate_plan(given.facts, given.batches(), policy, scale)


def test_the_built_in_policy_rarely_raises_a_false_alarm_and_always_as_often() -> None:
    given = of_metric(drawn(Random(1), CENTRES, 6))

    found = self_tested(given, GatePolicy())

    assert found == self_tested(given, GatePolicy())
    assert (found.splits, found.cases, found.samples) == (2_000, 50, 3)
    assert 0 < found.rate <= 0.06
    assert found.low < found.rate < found.high
    assert not found.refused


@pytest.mark.parametrize("samples", [2, 3, 5, 12])
def test_any_number_of_samples_from_two_on_can_be_split(samples: int) -> None:
    found = self_tested(of_metric(drawn(Random(1), CENTRES, samples)), GatePolicy())

    assert found.samples == samples // 2
    assert found.rate <= 0.075


def test_a_minimum_that_noisy_cases_often_miss_is_refused() -> None:
    given = of_metric(drawn(Random(1), [3.0] * 30, 4, spread=1.2))

    found = self_tested(given, GatePolicy(case_minimum={"quality": 3.0}))

    assert found.refused
    assert found.limit == pytest.approx(0.075)
    assert "minimum of quality" in found.causes


def test_flags_and_slices_are_tested_too() -> None:
    random = Random(2)
    cases = [
        case(
            f"c{at}",
            {"quality": drawn(random, [3.0], 4)[0]},
            flags={"rude": (random.randint(0, 4), 4)},
            metadata={"topic": "ab"[at % 2]},
        )
        for at in range(60)
    ]
    policy = GatePolicy(slices=("topic",), metrics={"quality": 0.0})

    found = self_tested(run(cases), policy)

    assert found.rate <= 0.07
    assert set(found.causes) <= {"quality", "flag rude", "quality in topic = a", "quality in topic = b"}


def test_one_sample_per_case_cannot_be_split() -> None:
    with pytest.raises(IncomparableError, match="no case has two samples"):
        self_tested(of_metric([[3.0]] * 10), GatePolicy())


def test_an_unknown_metric_is_an_error() -> None:
    given = of_metric(drawn(Random(1), CENTRES, 2))

    with pytest.raises(UnknownNameError):
        self_tested(given, GatePolicy(metrics={"quallity": None}))
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
