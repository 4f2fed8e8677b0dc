"""Which runs are compared at all."""

from __future__ import annotations

from typing import Any

import pytest
from compared_runs import case, compared, of_metric, run, with_facts

from prompt_evaluator.errors import IncomparableError
from prompt_evaluator.model.comparison import DatasetChange

BASELINE = of_metric([[3.0, 4.0]] * 6, name="quality")


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"dataset_hash": "1" * 64}, "different datasets (faq dddddddd and faq 11111111)"),
        ({"rubric_hash": "2" * 64, "rubric_name": "mine"}, "different rubrics (default eeeeeeee and mine 22222222)"),
        ({"judge_hash": "3" * 64, "judge_model": "gpt"}, "different judges (mock/judge ffffffff and gpt 33333333)"),
        (
            {"judge_hash": None, "judge_model": "gpt", "path": "a.json"},
            "different judges (mock/judge ffffffff and gpt)",
        ),
    ],
    ids=["dataset", "rubric", "judge", "judge of a file"],
)
def test_runs_that_differ_in_more_than_the_target_are_refused(facts: dict[str, str], named: str) -> None:
    with pytest.raises(IncomparableError) as refused:
        compared(BASELINE, with_facts(BASELINE, **facts))

    assert named in str(refused.value)
    assert "--allow-different" in str(refused.value)
    assert refused.value.exit_code == 3


def test_metrics_that_are_set_up_differently_are_refused() -> None:
    sides = [with_facts(BASELINE, metric_definitions={"tone": {"options": {"criteria": text}}}) for text in "ab"]

    with pytest.raises(IncomparableError, match=r"they have metrics that are set up differently \(tone\)\. To compare"):
        compared(*sides)


def test_metrics_that_differ_only_in_their_threshold_are_compared() -> None:
    sides = [with_facts(BASELINE, metric_definitions={"tone": {"options": {"threshold": at}}}) for at in (0.5, 0.7)]

    assert compared(*sides).common_cases == 6


@pytest.mark.parametrize("name", ["seed", "openai/gpt-4o seed"], ids=["the run's judge", "a metric's own judge"])
def test_a_file_whose_judge_has_another_seed_is_compared(name: str) -> None:
    file: dict[str, Any] = {"path": "a.json", "judge_hash": None, "metric_definitions": {}}
    sides = [with_facts(BASELINE, judge_parameters={"temperature": 0, name: seed}, **file) for seed in (1, 2)]

    assert compared(*sides).common_cases == 6


def test_a_file_whose_judge_has_another_temperature_is_refused() -> None:
    file: dict[str, Any] = {"path": "a.json", "judge_hash": None, "metric_definitions": {}}
    sides = [with_facts(BASELINE, judge_parameters={"temperature": at}, **file) for at in (0, 1)]

    with pytest.raises(IncomparableError, match="different judges"):
        compared(*sides)


def test_all_that_differs_is_named_at_once() -> None:
    other = with_facts(BASELINE, dataset_hash="1" * 64, judge_hash="2" * 64)

    with pytest.raises(IncomparableError, match=r"different datasets \(.*\) and different judges \("):
        compared(BASELINE, other)


def test_allowed_the_unchanged_cases_are_compared_and_that_is_said() -> None:
    baseline = run([case(f"case-{at}", {"quality": [3.0]}, content=f"text {at}") for at in range(8)])
    cases = [case(f"case-{at}", {"quality": [4.0]}, content=f"text {at if at != 5 else 'new'}") for at in range(2, 10)]
    candidate = run(cases, dataset_hash="1" * 64, judge_hash="2" * 64)

    comparison = compared(baseline, candidate, allow_different=True)

    assert (comparison.common_cases, comparison.metrics["quality"].cases) == (5, 5)
    assert comparison.warnings[:2] == (
        "The datasets differ (faq dddddddd and faq 11111111) and the judges differ (mock/judge ffffffff and "  # noqa: ISC004 - one sentence
        "mock/judge 22222222): 5 unchanged cases compared, 5 others left out.",
        "Scores by different judges are not the same measure.",
    )
    assert comparison.differs["dataset"] == DatasetChange(
        added=2,
        removed=2,
        changed=1,
        added_ids=("case-8", "case-9"),
        removed_ids=("case-0", "case-1"),
        changed_ids=("case-5",),
    )


@pytest.mark.parametrize("allow", [True, False])
def test_runs_without_a_common_case_are_always_refused(*, allow: bool) -> None:
    other = run([case("other", {"quality": [3.0]})])

    with pytest.raises(IncomparableError, match="no test case in common"):
        compared(BASELINE, other, allow_different=allow)


def test_runs_in_which_every_common_case_changed_are_refused() -> None:
    other = run([case("case-0", {"quality": [3.0]}, content="new")])

    with pytest.raises(IncomparableError, match="1 test case of the same name changed in between"):
        compared(BASELINE, other)


def test_runs_without_cases_are_refused() -> None:
    with pytest.raises(IncomparableError, match="neither has any test case"):
        compared(run([]), run([]))


def test_another_selection_of_the_same_dataset_is_compared() -> None:
    comparison = compared(BASELINE, of_metric([[3.0, 4.0]] * 4))

    assert comparison.common_cases == 4
    change = comparison.differs["cases"]
    assert isinstance(change, DatasetChange)
    assert (change.added, change.removed, change.removed_ids) == (0, 2, ("case-4", "case-5"))


def test_a_case_that_changed_under_the_same_dataset_hash_is_left_out_and_counted() -> None:
    cases = [case(f"case-{at}", {"quality": [3.0]}, content="new" if at == 0 else "same") for at in range(6)]

    comparison = compared(BASELINE, run(cases))

    assert comparison.common_cases == 5
    assert "1 case changed between the runs and is left out." in comparison.warnings


def test_a_case_whose_content_is_not_known_is_common() -> None:
    cases = [case(f"case-{at}", {"quality": [3.0]}, content=None) for at in range(6)]

    assert compared(BASELINE, run(cases)).common_cases == 6


def test_the_order_of_cases_does_not_matter() -> None:
    cases = [case(f"case-{at}", {"quality": [float(1 + at % 5)]}) for at in range(30)]

    comparison = compared(run(cases), run(cases[::-1]))

    assert comparison.common_cases == 30
    assert comparison.metrics["quality"].ties == 30
