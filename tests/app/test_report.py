"""What a report says, collected from result rows alone."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from case_results import WHEN, case_result, flag, sample, stats

from prompt_evaluator.app.report import ReportOptions, collect_compare_report, collect_run_report
from prompt_evaluator.app.settings import read_settings
from prompt_evaluator.app.stores import open_store
from prompt_evaluator.errors import UnknownNameError
from prompt_evaluator.model import (
    REDACTOR,
    CommandLine,
    Criterion,
    DatasetRef,
    JudgeConfig,
    RunPlan,
    RunRecord,
    Target,
    TestCase,
)
from prompt_evaluator.model.comparison import CompareOptions
from prompt_evaluator.model.report import MOST_ANSWERS, MOST_CASES, MOST_TEXT
from prompt_evaluator.model.result import CriterionScore
from prompt_evaluator.model.rubric import Rubric
from prompt_evaluator.model.run import CallFailure
from prompt_evaluator.pipeline.totals import Totals

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from prompt_evaluator.config.loading import Settings
    from prompt_evaluator.model.report import CompareReport, RunReport
    from prompt_evaluator.model.result import CaseResult, MetricStats

RUN, OTHER = "run-0001", "run-0002"
PLAIN = ReportOptions(charts=False)
CLARITY = Rubric(
    name="short",
    hash="0",
    metrics=(Criterion(name="clarity", description="Is it clear?", min_score=1, max_score=5),),
    flags=(),
)
JUDGE = JudgeConfig(model="openai/judge", identity="judge")


def result(at: int, *scores: float, answer: str = "an answer", **given: Any) -> CaseResult:
    """A case with these scores for clarity."""
    samples = tuple(
        sample(
            f"case-{at}",
            number,
            generator_output=answer,
            judge_metrics={"clarity": CriterionScore(score, f"worth {score:g}", passed=score >= 4)},
            scores={},
        )
        for number, score in enumerate(scores)
    )
    values: dict[str, Any] = {"samples": samples, "per_metric_stats": {"clarity": stats(*scores)}}
    return case_result(f"case-{at}", num_samples=len(scores), **{**values, **given})


def varied(*scores: float, **given: Any) -> MetricStats:
    return msgspec.structs.replace(stats(*scores), variability="high", **given)


def add(settings: Settings, results: Sequence[CaseResult], run_id: str = RUN, **given: Any) -> None:
    count = len(results)
    values: dict[str, Any] = {
        "dataset": DatasetRef(path="/cases.jsonl", hash="d", count=count, selected=count),
        "target": Target(model="openai/small", identity="service"),
        "rubric": CLARITY,
        "judge": JUDGE,
        "num_samples": 2,
        "output_dir": "/nowhere",
    }
    plan = RunPlan(run_id=run_id, group_id="g", **{**values, **given})
    cases = [
        TestCase(
            id=each.test_case_id,
            input=each.test_case_input,
            reference="it depends",
            line=at + 1,
            metadata=each.test_case_metadata,
        )
        for at, each in enumerate(results)
    ]
    totals = Totals(plan)
    for at, each in enumerate(results):
        totals.add(at, each)
    with closing(open_store(settings)) as store:
        store.create_run(RunRecord(plan=plan, status="completed", started_at=WHEN), cases)
        store.replace_results(
            run_id, enumerate(results), lambda: totals.result("completed"), judges={"clarity": JUDGE.model}
        )


@pytest.fixture
def settings(here: Path) -> Settings:
    assert here.is_dir()
    return read_settings()


def report(settings: Settings, run: str = RUN, **options: Any) -> RunReport:
    return collect_run_report(settings, run, msgspec.structs.replace(PLAIN, **options))


def both(settings: Settings) -> CompareReport:
    return collect_compare_report(settings, (RUN, OTHER), CompareOptions(), PLAIN)


def test_it_shows_the_worst_cases_with_their_worst_answers_first(settings: Settings) -> None:
    add(settings, [result(0, 5.0, 5.0), result(1, 3.0, 2.0), result(2, 1.0, 1.0)])

    found = report(settings)

    assert [each.test_case_id for each in found.worst] == ["case-2", "case-1"]
    second = found.worst[1]
    assert (second.input, second.reference, second.line) == ("Why?", "it depends", 2)
    assert [(each.sample, each.scores, each.reasons) for each in second.answers] == [
        (1, {"clarity": 2.0}, {"clarity": "worth 2"}),
        (0, {"clarity": 3.0}, {"clarity": "worth 3"}),
    ]
    assert second.findings.metrics[0].mean == 2.5
    assert found.failing_cases == 2
    assert found.findings.metrics[0].name == "clarity"
    assert found.title == "cases with openai/small (run-0001)"


def test_of_many_cases_it_shows_the_worst_and_counts_all(settings: Settings) -> None:
    add(settings, [result(at, 1.0, 3.0, per_metric_stats={"clarity": varied(1.0, 3.0)}) for at in range(50)])

    found = report(settings)

    assert (len(found.worst), found.failing_cases) == (MOST_CASES, 50)
    assert (len(found.varying), found.varying_cases) == (MOST_CASES, 50)


def test_long_texts_and_many_samples_are_cut_and_it_is_said_how_much_is_left_out(settings: Settings) -> None:
    long = "x" * (MOST_TEXT + 1_234)
    add(settings, [result(0, *[1.0] * 9, answer=long, test_case_input=long)])

    (case,) = report(settings).worst

    cut = "x" * MOST_TEXT + "… [1,234 more characters]"
    assert (case.input, case.answers[0].answer) == (cut, cut)
    assert (len(case.answers), case.answers_left_out) == (MOST_ANSWERS, 9 - MOST_ANSWERS)


def test_of_very_long_cases_it_shows_fewer_so_that_a_report_stays_small(settings: Settings) -> None:
    long = "☕" * 10_000
    add(settings, [result(at, *[1.0] * 9, answer=long, test_case_input=long) for at in range(MOST_CASES)])

    found = report(settings)

    assert 0 < len(found.worst) < MOST_CASES
    assert len(msgspec.json.encode(found)) < 2_000_000


@pytest.mark.parametrize(
    ("repeats", "repeat_std", "cause"),
    [
        (1, None, "unknown"),
        (2, 0.1, "samples"),
        (2, 1.9, "samples"),  # 1.9² / 2 is less than half of the variance, which is 4.5
        (2, 2.2, "judge"),
        (4, 2.2, "samples"),  # the mean of four judgements varies less
    ],
)
def test_the_judge_is_the_cause_if_it_explains_half_of_the_variance(
    settings: Settings, repeats: int, repeat_std: float | None, cause: str
) -> None:
    judge = msgspec.structs.replace(JUDGE, repeats=repeats)
    add(
        settings,
        [result(0, 1.0, 4.0, per_metric_stats={"clarity": varied(1.0, 4.0, repeat_std=repeat_std)})],
        judge=judge,
    )

    assert [each.cause for each in report(settings).varying] == [cause]


def test_the_command_can_be_typed_again_where_it_was_typed(settings: Settings) -> None:
    options = (("--dataset", "my cases.jsonl"), ("--quick",))
    add(settings, [result(0, 4.0)], command=CommandLine(name=("evaluate-dataset",), options=options, folder="/project"))
    add(settings, [result(0, 4.0)], run_id=OTHER)

    found = report(settings).reproduction

    assert found.command == "prompt-evaluator evaluate-dataset --dataset 'my cases.jsonl' --quick"
    assert found.folder == "/project"
    assert (report(settings, OTHER).reproduction.command, report(settings, OTHER).reproduction.folder) == (None, None)


def test_a_run_in_progress_says_so_before_any_number(settings: Settings) -> None:
    add(settings, [result(0, 4.0, 4.0)])
    with closing(open_store(settings)) as store:
        store.update_run(RUN, status="running")
        with store.own(RUN):
            running = report(settings).findings.headline
        interrupted = report(settings).findings.headline

    assert [note.code for note in running.notes] == ["running"]
    assert running.notes[0].text == "Still running: 2 of 2 samples done. The numbers below cover only finished cases."
    assert [note.code for note in interrupted.notes] == ["stopped"]


def test_a_run_without_any_case_can_be_reported_on(settings: Settings) -> None:
    add(settings, [])

    found = report(settings)

    assert (found.worst, found.varying, found.slices, found.charts) == ((), (), (), ())
    assert found.findings.no_scores is not None


def test_flagged_cases_are_worth_reading(settings: Settings) -> None:
    add(settings, [result(0, 5.0, 5.0), result(1, 5.0, 5.0, per_flag_stats={"rude": flag(1)})])

    assert [each.test_case_id for each in report(settings).worst] == ["case-1"]


def test_slices_are_compared_with_the_rest(settings: Settings) -> None:
    topics = ["billing", "orders"] * 10
    scores = {"billing": (1.0, 2.0), "orders": (4.0, 5.0)}
    add(settings, [result(at, *scores[each], test_case_metadata={"topic": each}) for at, each in enumerate(topics)])

    found = {each.value: each for each in report(settings).slices}

    assert {value: (each.mean, each.difference, each.cases) for value, each in found.items()} == {
        "billing": (1.5, -3.0, 10),
        "orders": (4.5, 3.0, 10),
    }
    assert report(settings, slices=("topic",)).slices == report(settings).slices
    with pytest.raises(UnknownNameError, match="topics"):
        report(settings, slices=("topics",))


def test_secrets_that_this_process_knows_are_masked_before_anything_is_escaped(settings: Settings) -> None:
    secret = 'a"secret<&>42'
    add(settings, [result(0, 1.0, 2.0, answer=f"It is {secret}.")], note=f"with {secret}")
    add(settings, [result(0, 1.0, 2.0, answer=f"It was {secret}.")], run_id=OTHER, tags={"key": secret})
    REDACTOR.add(secret)

    assert report(settings).worst[0].answers[0].answer == "It is [secret]."
    assert report(settings).facts.note == "with [secret]"
    found = both(settings)
    assert "secret<" not in repr((found.flipped, found.baseline, found.candidate, found.comparison.candidate))


def test_flipped_cases_come_first_and_a_few_more_follow_if_few_flipped(settings: Settings) -> None:
    add(settings, [result(at, 5.0, 5.0, 5.0, 5.0) for at in range(9)], num_samples=4)
    worse = [result(at, *([1.0, 1.0, 1.0, 2.0] if at in (3, 4) else [5.0, 5.0, 5.0, 5.0])) for at in range(9)]
    add(settings, worse, run_id=OTHER, num_samples=4)

    found = both(settings)

    assert {each.test_case_id for each in found.flipped[:2]} == {"case-3", "case-4"}
    assert len(found.flipped) == 5
    assert found.title == "cases with openai/small (run-0001) and cases with openai/small (run-0002)"
    assert found.baseline.facts.run_id == RUN


def test_a_case_with_errors_is_not_marked_as_good(settings: Settings) -> None:
    broken = CallFailure(kind="UnavailableError", message="The service answered 503.")
    failed = sample("case-0", 0, status="generation_error", error=broken, judge_metrics={}, scores={}, judge_flags={})
    add(settings, [result(0, 4.0, samples=(failed,), per_metric_stats={}, status="failed")])

    (case,) = report(settings).worst

    assert case.findings.mark == "warning"
