"""From units to the results of a case and of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest
from judging import RUBRIC

from prompt_evaluator.model import (
    Answer,
    CallFailure,
    DatasetRef,
    Generation,
    JudgeConfig,
    Judgement,
    Mark,
    ModelConfig,
    RunPlan,
    Scored,
    ScoreRecord,
    TestCase,
    Verdict,
)
from prompt_evaluator.pipeline.assemble import SampleUnits, case_result
from prompt_evaluator.pipeline.totals import Totals
from prompt_evaluator.stats import clopper_pearson

if TYPE_CHECKING:
    from prompt_evaluator.model.result import CaseResult, RunResult

CASE = TestCase(id="a", input="?")
BROKEN = CallFailure(kind="UnavailableError", message="down")
ANSWER = Answer(text="yes", latency_ms=1.0, model="m")


def _plan(repeats: int = 1, samples: int = 2, **bars: float) -> RunPlan:
    return RunPlan(
        run_id="r",
        group_id="r",
        dataset=DatasetRef(path="/d", hash="0", count=1, selected=1),
        prompt=None,
        rubric=RUBRIC,
        generator=ModelConfig(model="mock/default", identity="mock|"),
        judge=JudgeConfig(model="mock/default", identity="mock|", repeats=repeats),
        num_samples=samples,
        output_dir="/runs",
        fail_under=bars,
    )


UNJUDGED = msgspec.structs.replace(_plan(), rubric=None, judge=None, metrics=({"metric": "exact_match"},))


def _sample(*scores: float | None, invented: bool = False, generated: bool = True) -> SampleUnits:
    """A sample judged so often; None stands for a judge that could not be reached."""
    units = SampleUnits()
    units.generation = Generation(
        answer=ANSWER if generated else None,
        failure=None if generated else BROKEN,
        started_at="2025-01-01T00:00:00Z",
        ended_at="2025-01-01T00:00:01Z",
    )
    for repeat, score in enumerate(scores):
        if score is None:
            units.judgements[repeat] = Judgement(failure=BROKEN)
            continue
        marks = {"clarity": Mark(score, "because"), "trust": Mark(0.5, "")}
        verdict = Verdict(metrics=marks, flags={"invented": invented, "complete": True})
        units.judgements[repeat] = Judgement(verdict=verdict, raw="{}")
    return units


def _case(*samples: SampleUnits, plan: RunPlan | None = None, case: TestCase = CASE) -> CaseResult:
    return case_result(case, samples, plan or _plan())


def _run(*cases: CaseResult, plan: RunPlan | None = None) -> RunResult:
    totals = Totals(plan or _plan())
    for case in cases:
        totals.add(case)
    return totals.result(totals.status())


@pytest.mark.parametrize(
    ("samples", "status"),
    [
        ([_sample(4.0), _sample(5.0)], "completed"),
        ([_sample(4.0), _sample(None)], "partial"),
        ([_sample(None), _sample(generated=False)], "failed"),
        ([_sample(4.0), SampleUnits()], "pending"),
        ([_sample(4.0), _sample()], "pending"),
    ],
    ids=["all", "some", "none", "one not begun", "one not judged"],
)
def test_a_case_stands_as_its_samples_do(samples: list[SampleUnits], status: str) -> None:
    assert _case(*samples).status == status


def test_errors_are_never_scores() -> None:
    result = _case(_sample(4.0), _sample(None), _sample(generated=False), _sample(2.0))

    stats = result.per_metric_stats["clarity"]
    assert (stats.mean, stats.count, stats.min, stats.max) == (3.0, 2, 2.0, 4.0)
    assert [sample.status for sample in result.samples] == [
        "completed", "judge_error", "generation_error", "completed"
    ]  # fmt: skip
    assert result.error_message == "down"


def test_of_three_verdicts_the_mean_score_and_the_majority_of_a_flag_count() -> None:
    plan = _plan(repeats=3)
    units = _sample(1.0, 2.0, 3.0)
    other = _sample(5.0, invented=True).judgements[0]
    units.judgements[2] = other

    (sample,) = _case(units, plan=plan).samples

    assert sample.judge_metrics["clarity"].score == pytest.approx(8 / 3)
    assert sample.judge_flags["invented"] is False
    assert sample.judge_repeats is not None
    assert len(sample.judge_repeats) == 3


def test_the_spread_between_repeats_is_pooled_and_apart_from_that_between_samples() -> None:
    result = _case(_sample(1.0, 3.0), _sample(4.0, 4.0), plan=_plan(repeats=2))

    stats = result.per_metric_stats["clarity"]
    assert stats.repeat_std == pytest.approx(((2.0 + 0.0) / 2) ** 0.5)
    assert stats.std == pytest.approx(2**0.5)


def test_a_run_counts_every_case_with_a_score_once_however_many_samples_it_has() -> None:
    other = TestCase(id="b", input="?")

    result = _run(_case(_sample(5.0), _sample(None)), _case(_sample(1.0), _sample(2.0), case=other))

    overall = result.overall_metric_stats["clarity"]
    assert (overall.mean_of_means, overall.min_of_means, overall.max_of_means, overall.num_cases) == (3.25, 1.5, 5.0, 2)
    assert overall.bounds is not None
    assert list(overall.bounds) == pytest.approx([(3 + 1.5) / 2, (5 + 1.5) / 2])
    assert result.status == "partial"


def test_without_errors_no_bounds_are_open() -> None:
    assert _run(_case(_sample(5.0), _sample(1.0))).overall_metric_stats["clarity"].bounds is None


@pytest.mark.parametrize(
    ("cases", "status"),
    [
        ([_case(_sample(4.0)), _case(_sample(4.0))], "completed"),
        ([_case(_sample(4.0)), _case(_sample(None))], "partial"),
        ([_case(_sample(4.0), _sample(None))], "partial"),
        ([_case(_sample(None)), _case(_sample(generated=False))], "failed"),
    ],
    ids=["all", "one case failed", "one sample failed", "none"],
)
def test_a_run_stands_as_its_cases_do(cases: list[CaseResult], status: str) -> None:
    assert _run(*cases).status == status


def test_flags_are_counted_over_samples_and_their_interval_is_over_cases() -> None:
    calm = [_case(_sample(4.0), _sample(4.0)) for _ in range(5)]
    raised = [_case(_sample(4.0, invented=True), _sample(4.0)) for _ in range(5)]

    flag = _run(*raised, *calm).overall_flag_stats["invented"]

    assert (flag.true_count, flag.false_count, flag.total_count, flag.true_proportion) == (5, 15, 20, 0.25)
    assert flag.band == "frequent"
    assert flag.interval is not None
    assert flag.interval == clopper_pearson(2.5, 10)


def test_below_five_cases_neither_scores_nor_flags_have_an_interval() -> None:
    four, five = (_run(*[_case(_sample(4.0), _sample(3.0))] * cases) for cases in (4, 5))

    assert four.overall_metric_stats["clarity"].interval is None
    assert four.overall_flag_stats["invented"].interval is None
    assert five.overall_metric_stats["clarity"].interval == (3.5, 3.5)
    assert five.overall_flag_stats["invented"].interval == clopper_pearson(0, 5)


def test_all_cases_at_the_top_of_the_scale_leave_room_below() -> None:
    overall = _run(*[_case(_sample(5.0))] * 12).overall_metric_stats["clarity"]

    assert overall.interval == pytest.approx((3.94, 5.0), abs=0.01)


def _scored(*scores: float) -> CaseResult:
    """A case without a judge, whose answers equal the reference (1) or do not (0); a sample each."""
    samples = []
    for score in scores:
        units = _sample()
        units.scores["exact_match"] = ScoreRecord(metric="exact_match", score=Scored(score), passed=score == 1)
        samples.append(units)
    return _case(*samples, plan=UNJUDGED)


def test_the_overall_pass_rate_has_an_interval_that_counts_a_cases_samples_as_one() -> None:
    cases = [_scored(1, 1), _scored(1, 0), *[_scored(0, 0)] * 6]

    overall = _run(*cases, plan=UNJUDGED).overall_metric_stats["exact_match"]

    assert overall.pass_rate == 1.5 / 8
    assert overall.pass_interval == clopper_pearson(1.5, 8)
    assert _run(*cases[:4], plan=UNJUDGED).overall_metric_stats["exact_match"].pass_interval is None


def test_the_interval_of_the_pass_rate_is_of_the_rate_that_is_shown_however_many_samples_are_lost() -> None:
    cases = [*[_scored(1)] * 5, *[_scored(0, 0, 0)] * 5]

    overall = _run(*cases, plan=UNJUDGED).overall_metric_stats["exact_match"]

    assert overall.pass_rate == 0.5
    assert overall.pass_interval == clopper_pearson(5, 10)


def test_no_exact_match_in_12_cases_is_not_a_certain_zero() -> None:
    overall = _run(*[_scored(0)] * 12, plan=UNJUDGED).overall_metric_stats["exact_match"]

    assert overall.interval == pytest.approx((0, 0.2646), abs=1e-4)
    assert overall.pass_interval == clopper_pearson(0, 12)


def test_a_rubrics_scores_have_no_pass_rate_and_no_interval_of_one() -> None:
    overall = _run(*[_case(_sample(4.0))] * 6).overall_metric_stats["clarity"]

    assert (overall.pass_rate, overall.pass_interval) == (None, None)


def test_a_flag_that_nobody_judged_has_no_share() -> None:
    flag = _run(_case(_sample(None))).overall_flag_stats["invented"]

    assert (flag.total_count, flag.true_proportion, flag.band) == (0, None, None)


@pytest.mark.parametrize(
    ("bar", "below", "near"), [(1.0, False, False), (3.0, False, True), (3.1, True, True), (5.0, True, False)]
)
def test_a_bar_is_missed_or_close(bar: float, *, below: bool, near: bool) -> None:
    plan = _plan(clarity=bar)
    cases = [_case(_sample(score), plan=plan) for score in (2.0, 2.0, 3.0, 4.0, 4.0)]

    overall = _run(*cases, plan=plan).overall_metric_stats["clarity"]

    assert (overall.below, overall.near) == (below, near)


def test_the_worst_case_comes_first_on_whichever_scale() -> None:
    cases = [_case(_sample(score), case=TestCase(id=f"c{score}", input="?")) for score in (3.0, 1.0, 2.0)]

    worst = _run(*cases).worst

    # Trust is 0.5 on a scale from -1.5 to 1 in all of them: a smaller number than any clarity, and better than all.
    assert [(case.test_case_id, case.metric) for case in worst[:3]] == [
        ("c1.0", "clarity"),
        ("c2.0", "clarity"),
        ("c3.0", "clarity"),
    ]
