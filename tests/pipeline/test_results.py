"""From units to the results of a case and of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from applied import JUDGE, applied, applied_rubric, applied_use, plan
from entries import each
from judging import RUBRIC

from prompt_evaluator.model import (
    Answer,
    CallFailure,
    DatasetRef,
    Failed,
    Generation,
    Judgement,
    Message,
    MetricUse,
    RunPlan,
    Scored,
    Scores,
    Skipped,
    TestCase,
    Unit,
    Usage,
)
from prompt_evaluator.pipeline.assemble import Assembler
from prompt_evaluator.pipeline.samples import Attempt, SampleUnits, group
from prompt_evaluator.pipeline.totals import Totals
from prompt_evaluator.stats import clopper_pearson

if TYPE_CHECKING:
    from prompt_evaluator.model import UnitKind
    from prompt_evaluator.model.result import CaseResult, MetricScore, RunResult

CASE = TestCase(id="a", input="?")
BROKEN = CallFailure(kind="UnavailableError", message="down")
DOWN = Failed("down", kind="UnavailableError")
ANSWER = Answer(text="yes", latency_ms=1.0, model="m")
RUBRIC_KEY = "rubric house"


def _plan(samples: int = 2, **bars: float) -> RunPlan:
    return plan(rubric=RUBRIC, judge=JUDGE, num_samples=samples, fail_under=bars)


def _sample(*scores: float | None, invented: bool = False, generated: bool = True) -> SampleUnits:
    """A sample judged so often; None stands for a judge that could not be reached."""
    attempt = Attempt(_generation(generated=generated))
    rubric = applied_rubric(RUBRIC, repeats=len(scores))
    for repeat, score in enumerate(scores):
        outcome = DOWN if score is None else _scores(score, invented=invented)
        attempt.judgements[RUBRIC_KEY, repeat] = rubric.judgement(outcome)
    return SampleUnits([attempt])


def _generation(*, generated: bool = True) -> Generation:
    return Generation(
        answer=ANSWER if generated else None,
        failure=None if generated else BROKEN,
        started_at="2025-01-01T00:00:00Z",
        ended_at="2025-01-01T00:00:01Z",
    )


def _scores(clarity: float, *, invented: bool = False) -> Scores:
    marks = {"clarity": Scored(clarity, "because"), "trust": Scored(0.5, "")}
    return Scores(scores=marks, flags={"invented": invented, "complete": True})


def _case(*samples: SampleUnits, plan: RunPlan | None = None, case: TestCase = CASE) -> CaseResult:
    return Assembler(plan or _plan()).case(case, samples)


def _run(*cases: CaseResult, plan: RunPlan | None = None) -> RunResult:
    of = plan or _plan()
    of = msgspec.structs.replace(of, dataset=msgspec.structs.replace(of.dataset, selected=len(cases)))
    totals = Totals(of)
    for position, case in enumerate(cases):
        totals.add(position, case)
    return totals.result(totals.status())


@each(
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
def test_the_status_of_a_case_follows_from_its_samples(samples: list[SampleUnits], status: str) -> None:
    assert _case(*samples).status == status


def _billed(units: SampleUnits, cost: float) -> SampleUnits:
    """The same, with judgements for which a failed call was billed."""
    judgements = units.last.judgements
    units.last.judgements = {key: msgspec.structs.replace(each, failed_cost=cost) for key, each in judgements.items()}
    return units


def test_failed_calls_that_were_billed_are_in_the_costs_of_sample_and_run() -> None:
    answer = msgspec.structs.replace(ANSWER, cost=1.0)
    failed = msgspec.structs.replace(BROKEN, cost=0.25)
    paid = Generation(answer=answer, started_at="2025-01-01T00:00:00Z", ended_at="2025-01-01T00:00:01Z")
    units = _billed(_sample(4.0), 0.5)
    units.last.generation = paid
    nothing = SampleUnits([Attempt(msgspec.structs.replace(paid, answer=None, failure=failed))])

    case = _case(units, nothing)

    assert [(sample.cost, sample.judge_cost) for sample in case.samples] == [(1.0, 0.5), (0.25, None)]
    assert _run(case).totals.cost == 1.75


def test_a_stopped_call_that_was_billed_is_in_the_costs_of_the_run() -> None:
    totals = Totals(_plan())
    totals.add_stopped(1, 0.25)
    totals.add_stopped(0, None)

    found = totals.result("aborted").totals

    assert (found.cost, found.time_outs, found.unpriced_calls) == (0.25, 1, 0)


def test_tokens_of_the_cache_and_of_reasoning_are_counted_apart() -> None:
    usage = Usage(input_tokens=100, output_tokens=50, cached_tokens=60, cache_write_tokens=30, reasoning_tokens=40)
    answer, sample = msgspec.structs.replace(ANSWER, usage=usage), _sample(4.0)
    (attempt,), judged = sample.attempts, sample.attempts[0].judgements[RUBRIC_KEY, 0]
    attempt.generation = msgspec.structs.replace(_generation(), answer=answer)
    attempt.judgements[RUBRIC_KEY, 0] = msgspec.structs.replace(judged, replies=(answer,))
    case = _case(sample, plan=_plan(1))

    (found,), totals = case.samples, _run(case, plan=_plan(1)).totals

    assert (found.cached_tokens, found.cache_write_tokens, found.reasoning_tokens) == (60, 30, 40)
    assert found.judge_cached_tokens == 60
    assert (totals.input_tokens, totals.cached_tokens) == (200, 120)


def test_errors_are_never_scores() -> None:
    result = _case(_sample(4.0), _sample(None), _sample(generated=False), _sample(2.0))

    stats = result.per_metric_stats["clarity"]
    assert (stats.mean, stats.count, stats.min, stats.max) == (3.0, 2, 2.0, 4.0)
    assert [sample.status for sample in result.samples] == [
        "completed", "judge_error", "generation_error", "completed"
    ]  # fmt: skip
    assert result.error_message == "rubric house: down"
    assert [sample.error_metric for sample in result.samples] == [None, "rubric house", None, None]


def test_three_judgements_give_a_mean_score_and_a_majority_for_each_flag() -> None:
    units = _sample(1.0, 2.0, 3.0)
    units.last.judgements[RUBRIC_KEY, 2] = applied_rubric(RUBRIC, repeats=3).judgement(_scores(5.0, invented=True))

    (sample,) = _case(units).samples

    assert sample.judge_metrics["clarity"].score == pytest.approx(8 / 3)
    assert sample.judge_flags["invented"] is False
    assert sample.judge_repeats is not None
    assert len(sample.judge_repeats) == 3


def test_the_spread_between_repeats_is_pooled_and_separate_from_that_between_samples() -> None:
    result = _case(_sample(1.0, 3.0), _sample(4.0, 4.0), plan=_plan())

    stats = result.per_metric_stats["clarity"]
    assert stats.repeat_std == pytest.approx(((2.0 + 0.0) / 2) ** 0.5)
    assert stats.std == pytest.approx(2**0.5)


def test_a_score_that_is_a_whole_number_has_the_same_statistics_as_a_float() -> None:
    whole = _case(_sample(1), _sample(0)).per_metric_stats["clarity"]
    floats = _case(_sample(1.0), _sample(-0.0)).per_metric_stats["clarity"]

    assert msgspec.json.encode(whole) == msgspec.json.encode(floats)
    assert msgspec.json.encode(whole.min) == b"0.0"


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


@each(
    ("cases", "status"),
    [
        ([_case(_sample(4.0)), _case(_sample(4.0))], "completed"),
        ([_case(_sample(4.0)), _case(_sample(None))], "partial"),
        ([_case(_sample(4.0), _sample(None))], "partial"),
        ([_case(_sample(None)), _case(_sample(generated=False))], "failed"),
    ],
    ids=["all", "one case failed", "one sample failed", "none"],
)
def test_the_status_of_a_run_follows_from_its_cases(cases: list[CaseResult], status: str) -> None:
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
    assert four.overall_metric_stats["clarity"].pass_interval is None
    assert four.overall_flag_stats["invented"].interval is None
    assert five.overall_metric_stats["clarity"].interval is None  # all the same inside the scale says nothing
    assert five.overall_flag_stats["invented"].interval == clopper_pearson(0, 5)


def test_all_cases_at_the_top_of_the_scale_leave_room_below() -> None:
    overall = _run(*[_case(_sample(5.0))] * 12).overall_metric_stats["clarity"]

    assert overall.interval == pytest.approx((3.94, 5.0), abs=0.01)


UNJUDGED = plan(MetricUse(metric="exact_match"))


def _matched(*scores: float) -> CaseResult:
    """A case without a judge, whose answers equal the reference (1) or do not (0); a sample each."""
    match = applied("exact_match")
    samples = [
        SampleUnits([Attempt(_generation(), {("exact_match", 0): match.judgement(Scored(score))})]) for score in scores
    ]
    return _case(*samples, plan=UNJUDGED)


def test_the_overall_pass_rate_has_an_interval_that_counts_a_cases_samples_as_one() -> None:
    cases = [_matched(1, 1), _matched(1, 0), *[_matched(0, 0)] * 6]

    overall = _run(*cases, plan=UNJUDGED).overall_metric_stats["exact_match"]

    assert overall.pass_rate == 1.5 / 8
    assert overall.pass_interval == clopper_pearson(1.5, 8)
    assert _run(*cases[:4], plan=UNJUDGED).overall_metric_stats["exact_match"].pass_interval is None


def test_the_interval_of_the_pass_rate_is_of_the_rate_that_is_shown_however_many_samples_are_lost() -> None:
    cases = [*[_matched(1)] * 5, *[_matched(0, 0, 0)] * 5]

    overall = _run(*cases, plan=UNJUDGED).overall_metric_stats["exact_match"]

    assert overall.pass_rate == 0.5
    assert overall.pass_interval == clopper_pearson(5, 10)


def test_no_exact_match_in_12_cases_is_not_a_certain_zero() -> None:
    overall = _run(*[_matched(0)] * 12, plan=UNJUDGED).overall_metric_stats["exact_match"]

    assert overall.interval == pytest.approx((0, 0.2646), abs=1e-4)
    assert overall.pass_interval == clopper_pearson(0, 12)


def test_a_rubrics_scores_have_a_pass_rate_with_its_interval_too() -> None:
    overall = _run(*[_case(_sample(4.0))] * 6).overall_metric_stats["clarity"]

    assert (overall.pass_rate, overall.pass_interval) == (1.0, clopper_pearson(6, 6))


def test_a_flag_that_was_never_judged_has_no_share() -> None:
    flag = _run(_case(_sample(None))).overall_flag_stats["invented"]

    assert (flag.total_count, flag.true_proportion, flag.band) == (0, None, None)


@each(("bar", "below", "near"), [(1.0, False, False), (3.0, False, True), (3.1, True, True), (5.0, True, False)])
def test_a_bar_is_missed_or_close(bar: float, *, below: bool, near: bool) -> None:
    plan = _plan(clarity=bar)
    cases = [_case(_sample(score), plan=plan) for score in (2.0, 2.0, 3.0, 4.0, 4.0)]

    overall = _run(*cases, plan=plan).overall_metric_stats["clarity"]

    assert (overall.below, overall.near) == (below, near)


def test_failures_are_counted_by_their_reason_whatever_numbers_it_has() -> None:
    def broke(message: str) -> CaseResult:
        attempt = Attempt(_generation())
        attempt.judgements[RUBRIC_KEY, 0] = applied_rubric(RUBRIC).judgement(Failed(message, kind="RuntimeError"))
        return _case(SampleUnits([attempt]), plan=_plan(1))

    messages = [
        "late by 3 s",
        "kaputt",
        "late by 12 s",
        "kaputt",
        "late by 7 s",
        *(f"other {'x' * at}" for at in range(5)),
    ]
    totals = _run(*map(broke, messages), plan=_plan(1)).totals

    assert [(each.count, each.message) for each in totals.failures][:3] == [
        (3, f"{RUBRIC_KEY}: late by 3 s"),
        (2, f"{RUBRIC_KEY}: kaputt"),
        (1, f"{RUBRIC_KEY}: other "),
    ]
    assert (len(totals.failures), totals.reasons) == (5, 7)


def test_cases_with_a_wide_range_are_counted() -> None:
    wide, narrow = _case(_sample(2.0), _sample(5.0)), _case(_sample(4.0), _sample(5.0))

    assert _run(wide, narrow).overall_metric_stats["clarity"].wide_range_cases == 1


def test_the_worst_case_comes_first_on_any_scale() -> None:
    cases = [_case(_sample(score), case=TestCase(id=f"c{score}", input="?")) for score in (3.0, 1.0, 2.0)]

    worst = _run(*cases).worst

    # Trust is 0.5 on a scale from -1.5 to 1 in all of them: a smaller number than any clarity, and better than all.
    assert [(case.test_case_id, case.metric) for case in worst[:3]] == [
        ("c1.0", "clarity"),
        ("c2.0", "clarity"),
        ("c3.0", "clarity"),
    ]


# Metrics beside the rubric

INCLUDES = MetricUse(metric="includes", name="tea", options={"phrases": ["tea"]})


def _judged(*outcomes: Scored | Skipped | Failed, threshold: float = 0.5) -> SampleUnits:
    """A sample judged by `similarity` so often."""
    judge = applied("similarity", threshold=threshold)
    attempt = Attempt(_generation())
    for repeat, outcome in enumerate(outcomes):
        judgement = judge.judgement(outcome)
        attempt.judgements["similarity", repeat] = _repeated(judgement, len(outcomes))
    return SampleUnits([attempt])


def _repeated(judgement: Judgement, repeats: int) -> Judgement:
    return msgspec.structs.replace(judgement, repeats=repeats)


def _similarity(*outcomes: Scored | Skipped | Failed, threshold: float = 0.5) -> MetricScore:
    of = plan(MetricUse(metric="similarity"))
    (sample,) = _case(_judged(*outcomes, threshold=threshold), plan=of).samples
    return sample.scores["similarity"]


@pytest.mark.parametrize(("value", "passed"), [(0.5, True), (0.49, False), (1.0, True)])
def test_a_score_passes_at_or_above_its_threshold(value: float, *, passed: bool) -> None:
    found = _similarity(Scored(value, "so", {"a": 1}))

    assert (found.status, found.score, found.passed, found.reason, found.details, found.repeats) == (
        "scored", value, passed, "so", {"a": 1}, None
    )  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "status"), [(Skipped("no reference"), "skipped"), (Failed("broken", kind="X"), "failed")]
)
def test_what_is_skipped_or_failed_has_no_score(outcome: Skipped | Failed, status: str) -> None:
    found = _similarity(outcome)

    assert (found.status, found.score, found.passed, found.reason) == (status, None, None, outcome.reason)


def test_of_several_judgements_the_mean_decides() -> None:
    found = _similarity(Scored(0.4), Scored(0.8), DOWN)

    assert found.score == pytest.approx(0.6)
    assert found.passed
    assert found.repeats == (0.4, 0.8, None)


def test_a_criterion_passes_at_its_mark() -> None:
    passes = [_case(_sample(score)).samples[0].judge_metrics["clarity"].passed for score in (3.9, 4.0)]

    assert passes == [False, True]


def test_a_sample_is_pending_until_every_metric_has_judged_it() -> None:
    of = plan(INCLUDES, rubric=RUBRIC)
    units = _sample(4.0)
    before = _case(units, plan=of).samples[0].status
    units.last.judgements["tea", 0] = applied_use(INCLUDES).judgement(Scored(1.0))

    assert (before, _case(units, plan=of).samples[0].status) == ("pending", "completed")


def test_the_uses_of_a_case_are_expected_too() -> None:
    case = TestCase(id="a", input="?", checks=(INCLUDES,))

    assert _case(_sample(4.0), case=case).status == "pending"


@pytest.mark.parametrize(
    ("kind", "status"), [("InvalidJudgement", "judge_invalid_response"), ("ValueError", "judge_error")]
)
def test_a_broken_metric_is_distinguished_from_an_unreadable_judge(kind: str, status: str) -> None:
    (sample,) = _case(_judged(Failed("broken", kind=kind)), plan=plan(MetricUse(metric="similarity"))).samples

    assert sample.status == status
    assert sample.error == CallFailure(kind=kind, message="similarity: broken")


# Several attempts


def _attempt(value: float) -> Attempt:
    return _judged(Scored(value)).last


def test_the_last_attempt_decides_and_earlier_ones_say_what_they_missed() -> None:
    target = msgspec.structs.replace(plan().target, attempts=2)
    of = plan(MetricUse(metric="similarity"), target=target)

    (sample,) = _case(SampleUnits([_attempt(0.1), _attempt(0.9)]), plan=of).samples

    assert (sample.status, sample.attempt, sample.scores["similarity"].score) == ("completed", 1, 0.9)
    assert [(each.attempt, each.failed_checks) for each in sample.earlier_attempts] == [(0, ("similarity",))]
    assert sample.latency_ms is not None
    assert [each.latency_ms for each in sample.earlier_attempts] == [sample.latency_ms]


def test_a_missed_mark_leaves_a_sample_pending_while_there_are_attempts() -> None:
    assert [_judged(Scored(value)).status(["similarity"], 2) for value in (0.1, 0.9)] == ["pending", "completed"]


def test_one_of_several_judgements_below_the_mark_misses_nothing_when_the_mean_is_above() -> None:
    assert _judged(Scored(0.4), Scored(0.8)).last.missed() == []
    assert _judged(Scored(0.4), Scored(0.5)).last.missed() == ["similarity"]


# From stored units


def _unit(done: Generation | Judgement, name: str, **where: Any) -> Unit:
    kind: UnitKind = "generation" if isinstance(done, Generation) else "judgement"
    ok = not (done.failure if isinstance(done, Generation) else done.failed)
    data = msgspec.json.encode(done)
    return Unit(**{"case_id": "a", "sample": 0, **where}, name=name.encode(), kind=kind, ok=ok, data=data)


def test_units_are_grouped_by_sample_attempt_metric_and_repeat() -> None:
    judge = applied("similarity")
    units = [
        _unit(_generation(), "g0"),
        _unit(_generation(), "g1", attempt=1),
        _unit(_generation(generated=False), "g2", sample=1),
        _unit(judge.judgement(Scored(0.1)), "j0"),
        _unit(judge.judgement(Scored(0.9)), "j1", attempt=1, repeat=1),
        _unit(_generation(), "beyond", sample=2),
    ]

    first, second = group(units, 2)

    assert [list(attempt.judgements) for attempt in first.attempts] == [[("similarity", 0)], [("similarity", 1)]]
    assert second.last.answer is None


@pytest.mark.parametrize("order", [1, -1], ids=["failure first", "score first"])
def test_a_score_overrides_an_earlier_failure_whichever_is_read_first(order: int) -> None:
    judge = applied("similarity")
    units = [_unit(judge.judgement(DOWN), "before"), _unit(judge.judgement(Scored(0.9)), "after")]

    (sample,) = group(units[::order], 1)

    assert sample.last.judgements["similarity", 0].scores == {"similarity": Scored(0.9)}


def test_a_case_says_what_was_sent_and_where_it_came_from() -> None:
    case = TestCase(id="a", input="?", references=("x",), file="/d.yaml", line=3)
    sent = (Message("user", "?"),)

    found = Assembler(_plan()).case(case, [_sample(4.0)], sent)

    assert (found.messages, found.test_case_references) == (sent, ("x",))
    assert (found.test_case_file, found.test_case_line) == ("/d.yaml", 3)


def test_the_order_in_which_cases_finish_changes_nothing() -> None:
    of = plan(
        MetricUse(metric="length", options={"max_words": 3}), rubric=RUBRIC, judge=JUDGE, num_samples=1,
        dataset=DatasetRef(path="/d", hash="0", count=6, selected=6),
    )  # fmt: skip
    cases = []
    for number in range(6):
        units = _sample(None if number % 3 == 2 else 1.0 + number / 7)
        attempt = units.last
        attempt.judgements["length", 0] = applied_use(MetricUse(metric="length"), None).judgement(
            Failed(f"broken by {number}", kind="Broken") if number % 2 else Scored(number / 6)
        )
        case = msgspec.structs.replace(CASE, id=f"case-{number}")
        cases.append((number, Assembler(of).case(case, [units])))

    found = []
    for order in (cases, cases[::-1], [*cases[3:], *cases[:3]]):
        totals = Totals(of)
        for position, result in order:
            totals.add(position, result)
        found.append(msgspec.json.encode(totals.result(totals.status())))

    assert found[0] == found[1] == found[2]
    assert b"broken by 1" in found[0]


def test_cases_that_were_not_started_are_pending() -> None:
    of = msgspec.structs.replace(_plan(), dataset=DatasetRef(path="/d", hash="0", count=5, selected=5))
    totals = Totals(of)

    totals.add(3, _case(_sample(4.0), _sample(4.0), plan=of))

    assert totals.pending
    found = totals.result("running").totals
    assert (found.cases, found.samples) == ({"completed": 1, "pending": 4}, {"completed": 2, "pending": 8})
