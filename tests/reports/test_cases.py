"""What the dataset guide says about the numbers of one case."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pytest
from summaries import plan

from prompt_evaluator.app.findings import case_findings
from prompt_evaluator.model.findings import CaseFindings

if TYPE_CHECKING:
    from pathlib import Path

    from prompt_evaluator.model.findings import CaseMetricFinding


@dataclass(frozen=True)
class Scores:
    mean: float
    std: float | None
    min: float
    max: float
    count: int = 5
    passed: int = 5


class Counts(NamedTuple):
    true_count: int
    total_count: int


def one(folder: Path, scores: Scores, name: str = "clarity") -> CaseMetricFinding:
    (found,) = case_findings("test-001", plan(folder), metrics={name: scores}, flags={}).metrics
    return found


def notes(found: CaseMetricFinding) -> dict[str, str]:
    return {note.code: note.text for note in found.notes}


def test_the_guides_steady_metric_is_good(tmp_path: Path) -> None:
    found = one(tmp_path, Scores(4.2, 0.3, 3.8, 4.6))

    assert found.text == "clarity: mean=4.20, std=0.30, min=3.8, max=4.6"
    assert (found.mark, found.label) == ("good", None)
    assert notes(found) == {"low_std": "Low std (0.30) - consistent outputs across samples"}


def test_the_guides_unsteady_metric_has_high_variability(tmp_path: Path) -> None:
    found = one(tmp_path, Scores(4.5, 1.2, 2.5, 5.0))

    assert found.text == "clarity: mean=4.50, std=1.20, min=2.5, max=5.0"
    assert (found.mark, found.label) == ("warning", "HIGH VARIABILITY")
    assert notes(found) == {
        "high_std": "High std (1.20) and wide range (2.5-5.0)",
        "review_samples": "Action: Review samples with low clarity scores",
        "clearer_prompt": "Consider: Lower temperature or add clarity guidelines to prompt",
    }


@pytest.mark.parametrize(
    ("scores", "code", "label"),
    [
        (Scores(4.0, 0.49, 3.5, 4.5), "low_std", None),
        (Scores(4.0, 0.5, 3.5, 4.5), "moderate_std", None),
        (Scores(4.0, 0.8, 3.0, 5.0), "moderate_std", None),
        (Scores(4.0, 0.81, 3.0, 5.0), "high_std", "HIGH VARIABILITY"),
        (Scores(5.0, 1.01, 4.0, 5.0), "high_std", "HIGH VARIABILITY"),
    ],
    ids=["low below 0.5", "moderate from 0.5", "up to a fifth of the mean", "more than a fifth", "more than 1.0"],
)
def test_spread_is_named_by_the_guides_limits(tmp_path: Path, scores: Scores, code: str, label: str | None) -> None:
    found = one(tmp_path, scores)

    assert code in notes(found)
    assert found.label == label


def test_a_wide_range_is_worth_a_look_even_where_the_spread_is_not(tmp_path: Path) -> None:
    found = one(tmp_path, Scores(4.9, 0.6, 2.0, 5.0, 25, 25))

    assert found.mark == "warning"
    assert notes(found)["wide_range"] == "Wide range (2.0-5.0)"


def test_a_high_spread_in_a_narrow_range_says_nothing_of_the_range(tmp_path: Path) -> None:
    assert notes(one(tmp_path, Scores(2.0, 0.6, 1.5, 2.5)))["high_std"] == "High std (0.60)"


def test_one_sample_says_nothing_about_spread(tmp_path: Path) -> None:
    found = one(tmp_path, Scores(4.0, None, 4.0, 4.0, 1, 1))

    assert found.text == "clarity: mean=4.00, one sample, min=4.0, max=4.0"
    assert (found.mark, found.label, found.variability) == ("good", None, None)
    assert notes(found) == {"one_sample": "one sample"}


@pytest.mark.parametrize(("passed", "flaky"), [(0, False), (3, True), (5, False)])
def test_a_case_that_passes_sometimes_is_flaky(tmp_path: Path, passed: int, *, flaky: bool) -> None:
    found = one(tmp_path, Scores(0.9, 0.01, 0.9, 0.9, 5, passed), "includes")

    assert ("flaky" in notes(found)) is flaky
    assert found.mark == ("warning" if flaky else "good")


def test_a_metric_from_0_to_1_has_its_own_limits_and_digits(tmp_path: Path) -> None:
    found = one(tmp_path, Scores(0.9, 0.12, 0.75, 1.0), "includes")

    assert found.text == "includes: mean=0.900, std=0.120, min=0.75, max=1.00"
    assert found.label is None


@pytest.mark.parametrize(
    ("raised", "judged", "mark", "text"),
    [
        (0, 5, "good", "never raised"),
        (1, 5, "warning", "raised in 1 of 5 samples"),
        (3, 5, "bad", "raised in 3 of 5 samples"),
        (0, 0, None, "not judged"),
    ],
)
def test_a_flag_that_was_raised_is_told(tmp_path: Path, raised: int, judged: int, mark: str | None, text: str) -> None:
    made = case_findings("a", plan(tmp_path), metrics={}, flags={"invented_facts": Counts(raised, judged)})

    assert [(flag.mark, flag.text) for flag in made.flags] == [(mark, text)]


@pytest.mark.parametrize(
    ("std", "raised", "mark"), [(0.1, 0, "good"), (1.4, 0, "warning"), (0.1, 1, "warning"), (1.4, 5, "bad")]
)
def test_a_case_has_the_worst_of_its_marks(tmp_path: Path, std: float, raised: int, mark: str) -> None:
    made = case_findings(
        "a",
        plan(tmp_path),
        metrics={"accuracy": Scores(4.0, 0.1, 3.9, 4.1), "clarity": Scores(4.0, std, 3.0, 5.0)},
        flags={"invented_facts": Counts(raised, 5)},
    )

    assert made.mark == mark
    assert msgspec.json.decode(msgspec.json.encode(made), type=CaseFindings) == made
