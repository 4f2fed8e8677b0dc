"""The noise gate on the release harness's runs."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from prompt_evaluator.gate.harness import HarnessMargins, harness_verdicts, worst_exit_code
from prompt_evaluator.model.harness import HarnessEvaluation, HarnessRun, HarnessSummary


def evaluation(  # noqa: PLR0913 - what a gate looks at
    task: int,
    sample: int = 0,
    *,
    passed: bool | None = True,
    retries: int = 0,
    incidents: int = 0,
    latency: float | None = 100.0,
    config: str = "a",
) -> HarnessEvaluation:
    return HarnessEvaluation(
        config_id=config,
        provider=None,
        router=None,
        model=None,
        task_id=f"task-{task}",
        category=None,
        sample=sample,
        completion_pass=passed,
        retries_used=retries,
        hallucination_incident=incidents > 0,
        hallucination_incidents=incidents,
        latency_ms=latency,
    )


def harness_run(
    evaluations: list[HarnessEvaluation], *, configs: tuple[str, ...] = ("a",), name: str = "r"
) -> HarnessRun:
    summaries = tuple(
        HarnessSummary(
            config_id=config,
            total_tasks=1,
            task_completion_rate=None,
            retries_per_task=None,
            hallucination_incidents=0,
            latency_avg_ms=None,
            errors=0,
        )
        for config in configs
    )
    return HarnessRun(
        run_id=name, timestamp="2026-01-01T00:00:00Z", summaries=summaries, evaluations=tuple(evaluations)
    )


def drawn(seed: int, rate: float, tasks: int = 200, samples: int = 3) -> HarnessRun:
    random = Random(seed)
    return harness_run(
        [evaluation(task, sample, passed=random.random() < rate) for task in range(tasks) for sample in range(samples)]
    )


def test_a_drop_of_15_points_fails_and_none_does_not() -> None:
    assert harness_verdicts(drawn(1, 0.9), drawn(2, 0.75))["a"].verdict == "fail"
    assert harness_verdicts(drawn(1, 0.9), drawn(2, 0.9))["a"].verdict != "fail"


def test_completion_decides_by_the_documents_margin_in_points() -> None:
    found = harness_verdicts(drawn(1, 0.9), drawn(2, 0.75))["a"]

    metric = found.metrics["completion"]
    assert metric.margin == 2.0
    assert metric.difference == pytest.approx(-15, abs=5)
    assert "points" in found.reasons[0]
    assert set(found.guardrails) == {"retries", "latency", "hallucinations"}


def test_the_same_results_pass_if_there_are_enough_tasks() -> None:
    few, enough = (harness_run([evaluation(task) for task in range(count)]) for count in (20, 150))

    assert harness_verdicts(few, few)["a"].verdict == "inconclusive"
    assert harness_verdicts(enough, enough)["a"].verdict == "pass"


@pytest.mark.parametrize(
    ("name", "worse"),
    [("latency", {"latency": 900.0}), ("retries", {"retries": 2}), ("hallucinations", {"incidents": 1})],
)
def test_guardrails_fail_beyond_their_thresholds(name: str, worse: dict[str, int]) -> None:
    baseline = harness_run([evaluation(task) for task in range(150)])
    candidate = harness_run([evaluation(task, **worse) for task in range(150)])  # type: ignore[arg-type]

    found = harness_verdicts(baseline, candidate)["a"]

    assert found.verdict == "fail"
    assert {rail for rail, each in found.guardrails.items() if each.verdict == "fail"} == {name}
    assert harness_verdicts(candidate, baseline)["a"].verdict == "pass"


def test_one_incident_in_150_tasks_is_no_evidence() -> None:
    baseline = harness_run([evaluation(task) for task in range(150)])
    candidate = harness_run([evaluation(task, incidents=int(task == 0)) for task in range(150)])

    assert harness_verdicts(baseline, candidate)["a"].verdict == "pass"


def test_thresholds_are_margins() -> None:
    margins = HarnessMargins(completion=30.0)

    assert harness_verdicts(drawn(1, 0.9), drawn(2, 0.75), margins)["a"].verdict == "pass"


def test_a_configuration_that_only_one_run_has_fails() -> None:
    one, both = (
        harness_run([evaluation(1)]),
        harness_run([evaluation(1), evaluation(1, config="b")], configs=("a", "b")),
    )

    assert harness_verdicts(both, one)["b"].verdict == "fail"
    assert harness_verdicts(one, both)["b"].verdict == "fail"


def test_errors_that_could_change_the_verdict_and_all_errors_refuse_it() -> None:
    baseline = drawn(1, 0.9)
    some = harness_run(
        [
            msgspec.structs.replace(each, completion_pass=None) if at % 5 == 0 else each
            for at, each in enumerate(baseline.evaluations)
        ]
    )
    none = harness_run([msgspec.structs.replace(each, completion_pass=None) for each in baseline.evaluations])

    for candidate in (some, none):
        found = harness_verdicts(baseline, candidate)["a"]
        assert (found.verdict, found.exit_code) == (None, 3)
    assert harness_verdicts(harness_run([]), baseline)["a"].verdict is None


def test_the_worst_configuration_decides() -> None:
    verdicts = harness_verdicts(drawn(1, 0.9, 20), drawn(2, 0.9, 20))
    failed = harness_verdicts(drawn(1, 0.9), drawn(2, 0.7))

    assert worst_exit_code([]) == 0
    assert worst_exit_code(verdicts.values()) == 4
    assert worst_exit_code([*verdicts.values(), *failed.values()]) == 1
