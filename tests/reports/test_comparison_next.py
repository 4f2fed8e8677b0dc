"""What to do after a comparison."""

from __future__ import annotations

from typing import Any

from comparisons import BASELINE, CANDIDATE, case, compared_by, comparison, facts, metric, missing, same, undecided
from entries import each

from prompt_evaluator.reports.comparison import comparison_findings

TWO_SCALES = {"tone": undecided(difference=56.0, p_value=0.001), "clarity": undecided()}
BETTER = {"tone": metric("better", 3.0, 4.0)}


def said(*compared: Any, **more: Any) -> list[str]:
    return [step.text for step in comparison_findings(comparison(*compared, **more), compared_by()).next_steps]


@each(
    ("metrics", "text"),
    [
        ({"tone": metric("worse")}, "improve B, evaluate it again and compare it with A"),
        ({"tone": missing("candidate")}, "evaluate both with the same rubric or metrics, then compare again"),
        ({}, "evaluate both with the same rubric or metrics, then compare again"),
        (
            {"tone": undecided(more_samples_needed=7)},
            "evaluate A and B again with 7 more samples per case and --reuse, and compare",
        ),
        ({"tone": undecided()}, "add about 60 cases to the dataset, evaluate A and B again and compare"),
        (TWO_SCALES, "state the scale of tone in both runs, then compare again"),
        (BETTER, "use B: no metric or flag got worse"),
        ({"tone": same()}, "use A or B: decide by cost and speed"),
    ],
)
def test_what_to_do_follows_from_the_verdicts(metrics: dict[str, Any], text: str) -> None:
    assert said(metrics) == [text]


def test_after_a_drop_the_answers_are_shown_and_then_the_candidate_improved() -> None:
    dropped = comparison({"correctness": metric("worse", case_classes={"worse": 1})}, cases=[case("charged-twice")])

    (first,) = comparison_findings(dropped, compared_by()).next_steps
    (then,) = comparison_findings(dropped, compared_by(answers_shown=True)).next_steps

    assert first.text == f"prompt-evaluator compare {BASELINE} {CANDIDATE} --show"
    assert then.text == "improve B, evaluate it again and compare it with A"


def test_an_unfinished_run_is_resumed_first_unless_it_is_a_file() -> None:
    unfinished = facts(CANDIDATE, status="aborted")

    assert said(BETTER, candidate=unfinished) == [f"prompt-evaluator resume {unfinished.run_id}"]
    assert said(BETTER, candidate=facts("b.json", path="b.json", status="aborted"))[0].startswith("use B")


@each(("failed", "use"), [((0, 20), False), ((0, 5), True), ((30, 20), True)])
def test_a_gain_of_a_run_that_lacks_many_scores_is_looked_into_first(failed: tuple[int, int], *, use: bool) -> None:
    before, after = (facts(name, samples=100, failed_samples=count) for name, count in zip("ab", failed, strict=True))

    (text,) = said(BETTER, baseline=before, candidate=after)

    assert text.startswith("use B" if use else "find out why 20 % of B's samples have no score")
