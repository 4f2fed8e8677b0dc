"""What differs between two runs, and what makes their comparison weaker."""

from __future__ import annotations

from typing import Any

import pytest
from compared_runs import compared, of_metric, with_facts

from prompt_evaluator.model.comparison import Change

RUN = of_metric([[3.0, 4.0]] * 6, prompt_hash="a" * 64, prompt_path="p.txt", prompt_text="Be brief.\nBe kind.")


def differs(candidate: dict[str, Any], baseline: dict[str, Any] | None = None) -> dict[str, Any]:
    found = compared(with_facts(RUN, **baseline or {}), with_facts(RUN, **candidate), allow_different=True).differs
    return {**found}


def test_nothing_differs_between_a_run_and_itself() -> None:
    comparison = compared(RUN, RUN)

    assert comparison.differs == {}
    assert comparison.warnings == ()


def test_prompts_are_shown_as_a_diff() -> None:
    changed = differs({"prompt_hash": "b" * 64, "prompt_text": "Be brief.\nBe polite."})

    assert changed == {
        "prompt": Change(
            baseline="p.txt (aaaaaaaa)",
            candidate="p.txt (bbbbbbbb)",
            diff="--- baseline\n+++ candidate\n@@ -1,2 +1,2 @@\n Be brief.\n-Be kind.\n+Be polite.",
        )
    }


def test_a_run_without_a_prompt_is_shown_against_one_with_it() -> None:
    change = differs({"prompt_hash": None, "prompt_text": None, "prompt_path": None})["prompt"]

    assert (change.baseline, change.candidate) == ("p.txt", None)
    assert change.diff.endswith("-Be brief.\n-Be kind.")


def test_a_long_diff_is_cut_and_says_so() -> None:
    change = differs({"prompt_hash": "b" * 64, "prompt_text": "\n".join(map(str, range(500)))})["prompt"]

    assert len(change.diff.splitlines()) == 201
    assert change.diff.endswith("\n… 305 more lines")


def test_a_prompt_whose_text_is_not_known_has_no_diff() -> None:
    change = differs({"prompt_hash": "b" * 64, "prompt_text": None})["prompt"]

    assert change.diff is None


def test_only_what_differs_is_listed() -> None:
    changed = differs(
        {
            "generator_model": "b",
            "prompt_version": "v2",
            "parameters": {"temperature": 1, "seed": 1},
            "num_samples": 3,
            "judge_parameters": {"temperature": 0},
        },
        {"generator_model": "a", "parameters": {"temperature": 0, "seed": 1}, "num_samples": 5},
    )

    assert {name: (change.baseline, change.candidate) for name, change in changed.items()} == {
        "prompt_version": (None, "v2"),
        "model": ("a", "b"),
        "parameters.temperature": (0, 1),
        "judge_parameters.temperature": (None, 0),
        "samples": (5, 3),
    }


def test_rubrics_are_shown_as_a_diff() -> None:
    changed = differs({"rubric_hash": "1" * 64, "rubric_text": "clear"}, {"rubric_text": "clarity"})

    assert list(changed) == ["rubric"]
    assert changed["rubric"].diff.endswith("-clarity\n+clear")


def test_metrics_that_were_set_up_differently_are_named() -> None:
    definitions = [{"metric": "length", "options": {"most": most}} for most in (10, 20)]
    sides = [with_facts(RUN, metric_definitions={"length": each, "exact": {}}) for each in definitions]

    comparison = compared(*sides, allow_different=True)

    assert comparison.differs == {"metrics.length": Change(baseline=definitions[0], candidate=definitions[1])}
    assert "Set up differently in the two runs, so not the same measure: length." in comparison.warnings


BARE: dict[str, Any] = {
    "path": "other.json",
    "dataset_hash": None,
    "rubric_hash": None,
    "judge_hash": None,
    "judge_model": None,
    "prompt_hash": None,
    "prompt_text": None,
    "prompt_path": None,
}


def test_what_a_file_made_elsewhere_leaves_out_is_unknown_and_not_a_difference() -> None:
    comparison = compared(with_facts(RUN, parameters={"temperature": 0}), with_facts(RUN, **BARE))

    assert comparison.differs == {}
    assert comparison.warnings == ("Whether the dataset, rubric and judge are the same is not known.",)


def test_a_file_made_here_leaves_out_only_the_service() -> None:
    file: dict[str, Any] = {"path": "runs/dataset_evaluation.json", "judge_hash": None, "metric_definitions": {}}
    stored = with_facts(RUN, parameters={"service": "x", "seed": 1}, judge_parameters={"service": "y"})

    comparison = compared(stored, with_facts(RUN, parameters={}, **file))

    assert comparison.differs == {"parameters.seed": Change(baseline=1, candidate=None)}
    assert comparison.warnings == ()


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        (
            {"status": "interrupted"},
            "run is interrupted, not completed: cases and samples without scores are left out.",
        ),
        ({"synthetic": True}, "Made up offline by the mock, not a model's results: run."),
        ({"num_samples": 3}, "The baseline has 5 samples per case, the candidate 3."),
    ],
    ids=["unfinished", "synthetic", "samples"],
)
def test_what_makes_a_comparison_weaker_is_said(facts: dict[str, Any], sentence: str) -> None:
    comparison = compared(with_facts(RUN, num_samples=5), with_facts(RUN, **({"num_samples": 5} | facts)))

    assert comparison.warnings == (sentence,)
