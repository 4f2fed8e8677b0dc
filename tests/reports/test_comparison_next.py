"""What to do after a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from comparisons import (
    BASELINE,
    CANDIDATE,
    case,
    compared_by,
    comparison,
    facts,
    flag,
    metric,
    missing,
    same,
    undecided,
)
from summaries import plan, typed

from prompt_evaluator.reports.comparison import comparison_findings

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.comparison import Comparison
    from prompt_evaluator.model.findings import NextStep

COMPARE = f"prompt-evaluator compare {BASELINE} {CANDIDATE}"


def steps(compared: Comparison, **more: Any) -> list[NextStep]:
    return list(comparison_findings(compared, compared_by(**more)).next_steps)


def dropped(case_id: str = "charged-twice", **more: Any) -> Comparison:
    return comparison({"correctness": metric("worse", case_classes={"worse": 1})}, cases=[case(case_id)], **more)


def test_after_a_drop_the_answers_are_shown() -> None:
    (step,) = steps(dropped())

    assert (step.code, step.text) == ("show_answers", f"{COMPARE} --show")


def test_after_the_answers_the_whole_case_is_shown() -> None:
    (step,) = steps(dropped("it's mine"), answers_shown=True)

    assert step.code == "show_case"
    assert step.arguments[1:3] == ("runs", "show")
    assert step.arguments[4:] == ("--case", "it's mine")


@pytest.mark.parametrize("candidate", [facts("b.json", path="b.json"), facts(CANDIDATE, run_id=None)])
def test_a_case_of_a_file_is_not_looked_for_in_the_store(candidate: Any) -> None:
    (step,) = steps(dropped(candidate=candidate), answers_shown=True)

    assert step.text == "improve B, evaluate it again and compare it with A"


def test_a_drop_without_a_flipped_case_asks_for_a_better_candidate() -> None:
    (step,) = steps(comparison({"tone": metric("worse")}, {"rude": flag("worse")}))

    assert (step.code, step.text) == ("after_a_change", "improve B, evaluate it again and compare it with A")


def test_what_was_not_measured_is_to_be_measured() -> None:
    (step,) = steps(comparison({"tone": missing("candidate"), "clarity": missing("baseline")}))

    assert step.text == "evaluate A with clarity too and B with tone too, then compare again"


def test_an_unfinished_run_is_resumed_first() -> None:
    unfinished = facts(CANDIDATE, status="aborted")
    (step,) = steps(dropped(candidate=unfinished))

    assert step.text == f"prompt-evaluator resume {unfinished.run_id}"


def test_an_unfinished_run_in_a_file_cannot_be_resumed() -> None:
    (step,) = steps(dropped(candidate=facts("b.json", path="b.json", status="aborted")))

    assert step.code == "show_answers"


def test_more_samples_are_taken_of_both_runs_if_they_would_tell(tmp_path: Path) -> None:
    plans = [
        msgspec.structs.replace(plan(tmp_path), command=typed(tmp_path, ("--dataset", "data.yaml"), ("-s", prompt)))
        for prompt in ("a.txt", "b.txt")
    ]
    told = steps(comparison({"tone": undecided(more_samples_needed=7)}), plans=(plans[0], plans[1]))

    assert [step.arguments[-3:] for step in told[:2]] == [("--num-samples", "12", "--reuse")] * 2
    assert ["a.txt" in told[0].text, "b.txt" in told[1].text] == [True, True]
    assert told[2].arguments == ("prompt-evaluator", "compare", "@last~1", "@last")


@pytest.mark.parametrize("more", [{"more_samples_needed": None}, {"more_samples_needed": 7}])
def test_more_cases_are_added_if_samples_would_not_tell_or_the_commands_are_unknown(more: dict[str, Any]) -> None:
    (step,) = steps(comparison({"tone": undecided(**more), "clarity": same()}))

    assert (step.code, step.text) == (
        "more_cases",
        "add about 60 cases to the dataset, evaluate A and B again and compare",
    )


def test_a_gain_alone_says_to_use_the_candidate() -> None:
    (step,) = steps(comparison({"tone": metric("better", 3.0, 4.0), "clarity": same()}))

    assert (step.code, step.text) == ("use_candidate", "use B: nothing got worse")


def test_without_a_difference_cost_and_speed_decide() -> None:
    (step,) = steps(comparison({"tone": same()}))

    assert step.text == "use A or B: decide by cost and speed"


def test_scores_that_seem_to_be_on_two_scales_need_the_scale() -> None:
    (step,) = steps(comparison({"tone": undecided(difference=56.0, p_value=0.001), "clarity": undecided()}))

    assert step.text == "state the scale of tone in both runs, then compare again"


@pytest.mark.parametrize(("failed", "use"), [((0, 20), False), ((0, 5), True), ((30, 20), True)])
def test_a_gain_of_a_run_that_lacks_many_scores_is_looked_into_first(failed: tuple[int, int], *, use: bool) -> None:
    before, after = (facts(name, samples=100, failed_samples=count) for name, count in zip("ab", failed, strict=True))
    better = comparison({"tone": metric("better", 3.0, 4.0)}, baseline=before, candidate=after)

    (step,) = steps(better)

    assert step.text == (
        "use B: nothing got worse" if use else "find out why 20 % of B's samples have no score before you use it"
    )
