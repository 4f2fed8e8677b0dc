"""Marks and notes of metrics and flags over all cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from entries import each
from summaries import flag, metric, totals

if TYPE_CHECKING:
    from collections.abc import Callable

    from prompt_evaluator.model.findings import Findings

    Make = Callable[..., Findings]


CASES: dict[str, tuple[dict[str, Any], str, list[tuple[str, str]]]] = {
    "good": ({"mean": 4.5}, "good", []),
    "poor": ({"mean": 2.2}, "bad", [("poor", "poor")]),
    "spread everywhere": ({"mean": 4.0, "std": 1.3}, "warning", [("high_variability", "high variability")]),
    "spread in cases": (
        {"mean": 4.0, "high_variability_cases": 2},
        "warning",
        [("high_variability", "high variability in 2 cases")],
    ),
    "flaky": ({"mean": 4.4, "flaky_cases": 1}, "warning", [("flaky", "1 flaky case")]),
    "below the bar": ({"mean": 4.0, "fail_under": 4.5, "below": True}, "bad", [("below_bar", "below 4.5")]),
    "just below the bar": (
        {"mean": 4.4, "fail_under": 4.5, "below": True, "near": True},
        "bad",
        [("just_below_bar", "just below 4.5, may be due to chance")],
    ),
    "near the bar": (
        {"mean": 4.6, "fail_under": 4.5, "near": True},
        "warning",
        [("near_bar", "above 4.5, but close to it")],
    ),
    "errors": (
        {"mean": 4.4, "bounds": (4.0, 4.5)},
        "warning",
        [("bounds", "4.00 to 4.50 depending on the missing scores")],
    ),
    "skipped": ({"mean": 4.4, "skipped": 3}, "good", [("skipped", "3 samples skipped")]),
    "not everywhere": ({"mean": 4.4, "num_cases": 40}, "good", [("not_all_scored", "scored in 40 of 50 cases")]),
    "reduced": ({"mean": 4.4, "reduced": {"pass@3": 4.8}}, "good", [("reduced", "pass@3 4.80")]),
    "far apart": (
        {"mean": 4.0, "min_of_means": 1.0, "max_of_means": 5.0},
        "good",
        [("wide_range", "wide range between cases")],
    ),
}


@each(("numbers", "mark", "notes"), CASES.values(), ids=CASES)
def test_a_metric_has_a_mark_and_says_why(
    found: Make, numbers: dict[str, Any], mark: str, notes: list[tuple[str, str]]
) -> None:
    (made,) = found({"accuracy": metric(**numbers)}).metrics

    assert made.mark == mark
    assert [(note.code, note.text) for note in made.notes] == notes


def test_a_note_has_its_numbers_for_programs(found: Make) -> None:
    (made,) = found({"accuracy": metric(4.0, fail_under=4.5, below=True)}).metrics

    assert made.notes[0].values == {"bar": 4.5, "mean": 4.0}


def test_one_sample_has_no_spread_and_few_cases_have_no_interval(found: Make) -> None:
    (made,) = found({"accuracy": metric(4.0, None, interval=None, num_cases=2)}, totals=two_cases()).metrics

    assert made.no_std is not None
    assert made.no_std.text == "one sample"
    assert made.no_interval is not None
    assert (made.no_interval.code, made.no_interval.text) == ("too_few_cases", "needs 5 cases")


def two_cases() -> Any:
    return totals(2, cases={"completed": 2})


def test_cases_that_are_all_the_same_have_no_interval(found: Make) -> None:
    (made,) = found({"accuracy": metric(4.0, interval=None)}).metrics

    assert made.no_interval is not None
    assert made.no_interval.code == "all_the_same"


@pytest.mark.parametrize(("scale", "digits"), [((0.0, 1.0), 3), ((1.0, 5.0), 2), ((0.0, 100.0), 1), ((0.0, 1000.0), 0)])
def test_a_large_scale_is_shown_with_few_digits(found: Make, scale: tuple[float, float], digits: int) -> None:
    (made,) = found({"accuracy": metric(scale[1], scale=scale)}).metrics

    assert made.digits == digits


@pytest.mark.parametrize(
    ("raised", "mark", "band", "text"),
    [
        (0, "good", "never", "never raised"),
        (2, None, "rare", "rare"),
        (10, "warning", "occasional", "occasional"),
        (40, "warning", "frequent", "frequent"),
        (60, "bad", "majority", "most samples"),
    ],
)
def test_a_flag_is_marked_by_how_often_it_is_raised(
    found: Make, raised: int, mark: str | None, band: str, text: str
) -> None:
    (made,) = found({}, {"invented_facts": flag(raised, 100, (0.0, 1.0))}).flags

    assert (made.mark, made.band, made.text) == (mark, band, text)
    assert (made.raised, made.judged, made.share) == (raised, 100, raised / 100)
    assert made.no_interval is None


def test_flags_that_were_never_judged_are_left_out_only_if_all_are(found: Make) -> None:
    assert found({}, {"invented_facts": flag(0, 0)}).flags == ()

    judged, unjudged = found({}, {"a": flag(1, 2), "b": flag(0, 0)}).flags

    assert judged.no_interval is not None
    assert (unjudged.mark, unjudged.share, unjudged.text) == (None, None, "not judged")
