"""What a report shows of a run: the database sorts, and hands over only what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import JUDGES, case_result, failed_sample, flag, run_result, sample, stats

from prompt_evaluator.model import TestCase
from prompt_evaluator.model.result import CriterionScore, MetricScore

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model import RunRecord
    from prompt_evaluator.model.result import CaseResult, MetricStats, SampleResult
    from prompt_evaluator.store import Store

RUN = "run-0001"
SCALES = {"clarity": (1.0, 5.0), "length": (0.0, 1.0)}


def spread(*scores: float, **given: Any) -> MetricStats:
    return msgspec.structs.replace(stats(*scores), **given)


def judged(number: int, clarity: float, *, answer: str = "yes", rude: bool = False) -> SampleResult:
    return sample(
        number=number,
        generator_output=answer,
        judge_metrics={"clarity": CriterionScore(clarity, f"{clarity:g} points", passed=clarity >= 4)},
        judge_flags={"rude": rude},
    )


@pytest.fixture
def fill(store: Store, record: Callable[..., RunRecord]) -> Callable[..., Store]:
    def fill(*results: CaseResult) -> Store:
        store.create_run(record(RUN), [TestCase(id=each.test_case_id, input="Why?") for each in results])
        store.replace_results(RUN, enumerate(results), run_result, judges=JUDGES)
        return store

    return fill


def test_failing_cases_come_first_then_flagged_ones_then_errors_then_low_scores(fill: Callable[..., Store]) -> None:
    failing = {"clarity": stats(1.0, 1.0)}
    store = fill(
        case_result("perfect", per_metric_stats={"clarity": stats(5.0, 5.0)}),
        case_result("low", per_metric_stats={"clarity": stats(4.0, 4.5)}),
        case_result("broken", samples=(failed_sample(), failed_sample(number=1)), per_metric_stats={}, status="failed"),
        case_result("flagged", per_metric_stats={"clarity": stats(5.0, 5.0)}, per_flag_stats={"rude": flag(1)}),
        case_result("failing", per_metric_stats={"clarity": stats(2.0, 2.0)}),
        case_result("failing more", per_metric_stats=failing),
    )

    found = store.worst_cases(RUN, SCALES, 10)

    assert [line.case_id for line in found] == ["failing more", "failing", "flagged", "broken", "low"]
    assert [line.case_id for line in store.worst_cases(RUN, SCALES, 2)] == ["failing more", "failing"]


def test_scores_on_different_scales_are_compared_as_shares(fill: Callable[..., Store]) -> None:
    store = fill(
        case_result("middle", per_metric_stats={"clarity": stats(2.0, 2.0)}),
        case_result("lowest", per_metric_stats={"length": stats(0.1, 0.1), "clarity": stats(5.0, 5.0)}),
        case_result("highest", per_metric_stats={"length": stats(0.9, 0.9), "clarity": stats(3.0, 3.0)}),
    )

    assert [line.case_id for line in store.worst_cases(RUN, SCALES, 10)] == ["lowest", "middle", "highest"]


def test_a_case_that_varies_is_listed_once_with_the_metric_that_varies_most(fill: Callable[..., Store]) -> None:
    store = fill(
        case_result("steady", per_metric_stats={"clarity": spread(4.0, 4.0, variability="low")}),
        case_result("a little", per_metric_stats={"clarity": spread(4.5, 4.7, variability="low")}),
        case_result(
            "a lot",
            per_metric_stats={
                "clarity": spread(1.0, 5.0, variability="high", repeat_std=0.5),
                "length": spread(0.4, 0.6, variability="high", passed=0),
            },
        ),
        case_result("passes sometimes", per_metric_stats={"clarity": spread(3.9, 4.1, variability="low")}),
    )

    found, total = store.varying_cases(RUN, SCALES, 10)

    assert total == 2
    assert [(each.test_case_id, each.metric, each.passes) for each in found] == [
        ("a lot", "clarity", 1),
        ("passes sometimes", "clarity", 1),
    ]
    assert (found[0].low, found[0].high, found[0].count, found[0].repeat_std) == (1.0, 5.0, 2, 0.5)
    assert found[0].std == pytest.approx(8**0.5)
    assert store.varying_cases(RUN, SCALES, 1)[1] == 2


def test_it_is_known_whether_a_judge_gave_the_scores_that_vary(fill: Callable[..., Store]) -> None:
    rule = {"length": MetricScore(status="scored", score=0.5, passed=False, reason="short")}
    store = fill(
        case_result("by a judge", per_metric_stats={"clarity": spread(1.0, 5.0, variability="high")}),
        case_result(
            "by a rule",
            samples=(sample(scores=rule),),
            per_metric_stats={"length": spread(0.0, 0.9, variability="high")},
        ),
    )

    assert {each.test_case_id: each.judged for each in store.varying_cases(RUN, SCALES, 10)[0]} == {
        "by a judge": True,
        "by a rule": False,
    }


def test_flagged_samples_come_first_then_the_lowest_score_then_those_without_an_answer(
    fill: Callable[..., Store],
) -> None:
    samples = (judged(0, 4.0), failed_sample(number=1), judged(2, 1.0), judged(3, 5.0, rude=True), judged(4, 3.0))
    store = fill(case_result("case-0", samples=samples))

    found = store.worst_answers(RUN, 0, SCALES, limit=10, most_text=100)

    assert [each.sample for each in found.answers] == [3, 2, 4, 0, 1]
    assert found.left_out == 0
    assert (found.answers[0].flags, found.answers[1].flags) == (("rude",), ())
    assert found.answers[1].scores == {"clarity": 1.0, "length": 1.0}
    assert found.answers[1].reasons == {"clarity": "1 points", "length": "12 characters"}
    assert (found.answers[-1].answer, found.answers[-1].error) == (None, "TimedOutError happened")


def test_only_as_many_samples_and_characters_are_read_as_are_shown(fill: Callable[..., Store]) -> None:
    samples = tuple(judged(number, 1.0 + number / 10, answer="ü" * 2_000) for number in range(9))
    store = fill(case_result("case-0", samples=samples))

    found = store.worst_answers(RUN, 0, SCALES, limit=2, most_text=5)

    assert [each.sample for each in found.answers] == [0, 1]
    assert found.left_out == 7
    assert found.answers[0].answer == "üüüüü… [1,995 more characters]"


def test_a_run_without_results_has_nothing_to_show(fill: Callable[..., Store]) -> None:
    store = fill()

    assert store.worst_cases(RUN, SCALES, 10) == []
    assert store.varying_cases(RUN, SCALES, 10) == ([], 0)
    assert store.worst_answers(RUN, 0, SCALES, limit=2, most_text=5) == ((), 0)
