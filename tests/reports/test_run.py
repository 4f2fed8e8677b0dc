"""The headline, facts and advice of a run, beyond what the snapshots of `tests/cli` show."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from summaries import RUN_ID, flag, metric, of, outcome, plan, totals, worst

from prompt_evaluator.app.findings import findings
from prompt_evaluator.errors import BudgetSpentError
from prompt_evaluator.model.bars import MissedBar
from prompt_evaluator.model.findings import Findings
from prompt_evaluator.model.result import FailureCount

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.findings import Facts

    Make = Callable[..., Findings]

GOOD = {"accuracy": metric(4.5)}
SYMBOLS = set("✓⚠✗→\x1b\n")


def facts(made: Findings) -> Facts:
    assert made.facts is not None
    return made.facts


def advice(made: Findings) -> dict[str, str]:
    return {note.code: note.text for note in made.advice}


@pytest.mark.parametrize(("status", "mark"), [("partial", "warning"), ("failed", "bad"), ("aborted", "bad")])
def test_a_run_that_did_not_complete_is_marked(found: Make, status: str, mark: str) -> None:
    assert found(GOOD, status=status).headline.mark == mark


def test_what_ended_a_run_early_is_kept_as_a_sentence(tmp_path: Path) -> None:
    stopped = outcome(plan(tmp_path), GOOD, status="aborted")
    error = BudgetSpentError("The budget is spent.")

    made = findings(replace(stopped, stopped_by=error))

    assert made.headline.stopped_by == "The budget is spent."


def test_a_run_that_had_ended_before_has_its_sentence_and_its_file_only(tmp_path: Path) -> None:
    made = findings(replace(outcome(plan(tmp_path), GOOD), result=None), seen_from=tmp_path)

    assert made.ended_before
    assert made.headline.text == f"Run {RUN_ID} had already ended: completed. Nothing was missing or paid for."
    assert (made.metrics, made.facts, made.advice, made.next_step) == ((), None, (), None)
    assert made.files.shown == f"runs/{RUN_ID}/dataset_evaluation.json"
    assert msgspec.json.decode(msgspec.json.encode(made), type=Findings) == made


def test_files_have_a_path_for_programs_and_one_for_people(found: Make, tmp_path: Path) -> None:
    files = found(GOOD).files

    assert files.main == str(tmp_path / "runs" / RUN_ID / "dataset_evaluation.json")
    assert files.shown == f"runs/{RUN_ID}/dataset_evaluation.json"


def test_a_case_at_the_top_of_the_scale_is_not_among_the_worst(found: Make) -> None:
    made = facts(found(GOOD, worst=(worst("a", "accuracy", 5.0), worst("b", "accuracy", 4.9))))

    assert [case.test_case_id for case in made.worst] == ["b"]


def test_equal_cases_have_no_worst_and_no_flakiest(found: Make) -> None:
    same = {"accuracy": metric(3.0, 0.5, min_of_means=3.0, max_of_means=3.0)}
    cases = (worst("a", "accuracy", 3.0, 0.5), worst("b", "accuracy", 3.0, 0.5))

    made = facts(found(same, worst=cases, flakiest=cases))

    assert (made.worst, made.flakiest) == ((), ())


def test_a_single_case_is_neither_the_worst_nor_the_flakiest(found: Make) -> None:
    only = {"accuracy": metric(3.0, 0.5, num_cases=1, min_of_means=3.0, max_of_means=3.0)}
    cases = (worst("a", "accuracy", 3.0, 0.5),)

    made = facts(found(only, worst=cases, flakiest=cases, change=lambda plan: of(plan, 1)))

    assert (made.worst, made.flakiest) == ((), ())


def test_one_sample_without_a_score_is_counted_in_the_singular(found: Make) -> None:
    one = totals(
        0, samples={"completed": 249, "judge_invalid_response": 1}, errors={"InvalidJudgement": 1}, error_share=0.004
    )

    made = facts(found(GOOD, status="partial", totals=one)).errors

    assert made is not None
    assert made.text == "1 of 250 samples (0.4 %) lacks a score: 1 unreadable reply."


def test_the_class_of_somebodys_own_error_is_not_put_into_words(found: Make) -> None:
    failure = FailureCount(metric="python:checks:boom", kind="RuntimeError", message="kaputt", count=12)
    broken = totals(0, samples={"judge_error": 12}, errors={"RuntimeError": 12}, failures=(failure,), error_share=1.0)

    made = facts(found(GOOD, totals=broken)).errors

    assert made is not None
    assert made.text == "12 of 12 samples (100 %) lack a score."
    assert (made.reasons, made.failures[0].message) == (1, "kaputt")


@pytest.mark.parametrize(
    ("kind", "measured", "code"),
    [("fail_under", None, "unmeasured_bar"), ("fail_under", 0.4, "below_bar"), ("fail_over", 0.6, "above_bar")],
)
def test_a_missed_bar_is_told_with_its_reason(found: Make, kind: Any, measured: float | None, code: str) -> None:
    bar = MissedBar(name="speed", kind=kind, bar=0.5, measured=measured, reason="Because.")

    (note,) = facts(found(GOOD, missed_bars=(bar,))).missed_bars

    assert (note.code, note.text) == (code, "Because.")
    assert note.values == {"name": "speed", "bar": 0.5, "measured": measured}


def test_metrics_that_always_failed_are_named_beside_the_errors(found: Make) -> None:
    made = facts(
        found(
            GOOD,
            status="partial",
            not_measured={"boom": "it failed", "bang": "it failed", "faithfulness": "it was skipped"},
            totals=totals(0, samples={"judge_error": 250}, errors={"RuntimeError": 250}, skipped={"faithfulness": 250}),
        )
    )

    assert made.errors is not None
    assert made.errors.text.endswith("lack a score. boom and bang have no score in any sample.")


def test_a_metric_that_no_case_can_be_scored_by_is_named(found: Make) -> None:
    made = facts(found(GOOD, totals=totals(250, skipped={"faithfulness": 250, "accuracy": 3})))

    assert made.skipped is not None
    assert made.skipped.values == {"metrics": ["faithfulness"]}


@pytest.mark.parametrize(("time_outs", "said"), [(1, "1 try"), (1_200, "1,200 tries")])
def test_time_outs_are_told_with_the_money_they_may_have_cost(found: Make, time_outs: int, said: str) -> None:
    usage = facts(found(GOOD, totals=totals(250, cost=1.0823, unpriced_calls=0, time_outs=time_outs))).usage

    assert usage.text.endswith(f"$1.08. {said} timed out and may have been paid for.")
    assert usage.time_outs == time_outs


@pytest.mark.parametrize(
    ("samples", "level"), [(1, "none"), (2, "low"), (5, "moderate"), (10, "high"), (50, "very high")]
)
def test_the_number_of_samples_says_how_far_to_trust_them(found: Make, samples: int, level: str) -> None:
    made = facts(found(GOOD, change=lambda plan: of(plan, 1, num_samples=samples)))

    assert made.confidence is not None
    assert made.confidence.values == {"level": level, "samples": samples, "cases": 1}
    assert made.confidence.text.endswith("One case says nothing about other inputs.")


def test_of_many_metrics_advice_names_the_first_and_counts_the_others(found: Make) -> None:
    made = found({f"metric_{at}": metric(1.5, 0.1) for at in range(300)})

    assert advice(made)["poor_overall"].startswith(
        "metric_0, metric_1, metric_2, metric_3, metric_4, metric_5, metric_6 and 293 others are poor"
    )


def test_a_run_in_progress_is_neither_good_nor_bad_and_can_be_watched(found: Make) -> None:
    made = found(GOOD, status="running")

    assert made.headline.mark == "warning"
    assert made.headline.text.startswith(f"Run {RUN_ID} is still running: ")
    assert made.next_step
    assert made.next_step.arguments[1:] == ("runs", "watch", RUN_ID)


def test_a_good_run_needs_no_advice(found: Make) -> None:
    assert found(GOOD).advice == ()


def test_advice_is_ordered_by_what_matters_most(found: Make) -> None:
    metrics = {
        "poor": metric(2.0),
        "low": metric(3.5, fail_under=4.0, below=True),
        "uneven": metric(4.5, min_of_means=1.5),
        "close": metric(4.2, fail_under=4.0, near=True, min_of_means=4.1),
        "spread": metric(3.6, 1.4, repeat_std=0.9),
    }
    made = found(
        metrics,
        {"invented_facts": flag(60, 100), "omitted_constraints": flag(10, 100)},
        status="partial",
        totals=totals(1, errors={"RateLimitedError": 3}),
        worst=(worst("case-1", "uneven", 1.5),),
    )

    assert list(advice(made)) == [
        "rate_limited",
        "poor_overall",
        "below_bar",
        "uneven",
        "near_bar",
        "spread",
        "judges_spread",
        "flag_majority",
        "flag_occasional",
    ]
    assert advice(made)["near_bar"] == "close (4) is close to its bar: take more samples before deciding."
    assert {note.code: note.values for note in made.advice}["uneven"] == {"metrics": ["uneven"], "cases": ["case-1"]}


@pytest.mark.parametrize(
    ("samples", "text"),
    [
        (5, "clarity varies a lot between samples: take 10 per case to see whether this is real."),
        (
            20,
            (
                "clarity varies a lot between samples: lower the temperature (now 0.7; try 0.3), "
                "or make the prompt clearer with examples or constraints."
            ),
        ),
    ],
)
def test_what_to_do_about_spread_depends_on_the_samples(found: Make, samples: int, text: str) -> None:
    made = found({"clarity": metric(4.0, 1.3)}, change=lambda plan: of(plan, 50, num_samples=samples))

    assert advice(made) == {"spread": text}


def test_only_cases_that_vary_a_lot_are_named_for_it(found: Make) -> None:
    made = found(
        {"clarity": metric(4.0, 0.3, high_variability_cases=1)},
        flakiest=(worst("wild", "clarity", 4.0, 1.2), worst("calm", "clarity", 4.0, 0.6)),
    )

    assert advice(made)["spread_in_cases"].startswith("clarity varies a lot between samples of some cases (wild): ")


def test_without_a_prompt_nothing_is_said_about_one(found: Make) -> None:
    metrics = {"poor": metric(2.0), "spread": metric(3.6, 1.4, repeat_std=0.9)}
    flags = {"most": flag(60, 100), "often": flag(30, 100), "sometimes": flag(10, 100)}

    made = found(metrics, flags, change=without_prompt)

    assert advice(made)["poor_overall"] == (
        "poor is poor overall: change the model or how it is called before looking at individual cases."
    )
    assert not [note for note in made.advice if "prompt" in note.text]


def without_prompt(plan: RunPlan) -> RunPlan:
    target = msgspec.structs.replace(plan.target, prompt=None)
    return msgspec.structs.replace(plan, target=target, num_samples=20)


def test_a_run_of_one_case_is_not_told_to_look_at_single_cases_later(found: Make) -> None:
    made = found({"poor": metric(2.0)}, change=lambda plan: of(plan, 1))

    assert advice(made)["poor_overall"] == "poor is poor overall: improve the core prompt."


def test_a_model_that_judges_itself_is_pointed_out_with_the_flag(found: Make) -> None:
    made = found(GOOD, change=judged_by_itself)

    (note,) = made.headline.notes
    assert note.code == "judges_itself"
    assert note.text.startswith("openai/gpt-4o judges its own answers")
    assert "--judge-model" in note.text


def judged_by_itself(plan: RunPlan) -> RunPlan:
    assert plan.judge is not None
    return msgspec.structs.replace(plan, judge=msgspec.structs.replace(plan.judge, model=plan.target.model))


def test_a_run_that_nobody_judges_names_no_judge(found: Make) -> None:
    made = found(GOOD, change=lambda plan: msgspec.structs.replace(plan, judge=None, rubric=None))

    assert "judged by" not in made.headline.text
    assert made.headline.notes == ()


def test_nothing_in_findings_is_made_for_a_terminal(found: Make) -> None:
    made = found(
        {"poor": metric(2.0), "spread": metric(3.6, 1.4)},
        {"invented_facts": flag(60, 100)},
        status="aborted",
        totals=totals(1, errors={"RateLimitedError": 3}),
    )

    assert not SYMBOLS & set(msgspec.json.encode(made).decode())
