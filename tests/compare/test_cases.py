"""Which cases flipped, by the evidence of their own samples."""

from __future__ import annotations

import pytest
from compared_runs import DROPPED, case, compared, of_metric, run, scores, with_drops
from entries import each

from prompt_evaluator.model.comparison import CaseScores


@each("seed", range(8))
def test_seven_planted_drops_are_the_first_seven_rows(seed: int) -> None:
    comparison = with_drops(seed)

    assert {row.test_case_id for row in comparison.cases[:7]} == DROPPED
    assert [row.class_ for row in comparison.cases[:7]] == ["worse"] * 7
    assert comparison.metrics["quality"].case_classes["worse"] == 7
    assert len(comparison.cases) == 50


def test_gains_are_the_last_rows_and_the_most_certain_is_the_last() -> None:
    baseline = of_metric([[2.0] * 5, [2.0] * 5, [3.0] * 5, [1.0] * 5])
    candidate = of_metric([[5.0, 5, 5, 5, 5], [2.0, 2, 2, 2, 3], [1.0] * 5, [3.0] * 5])

    rows = compared(baseline, candidate).cases

    assert [(row.test_case_id, row.class_) for row in rows] == [
        ("case-2", "worse"),
        ("case-1", "same"),
        ("case-3", "better"),
        ("case-0", "better"),
    ]


def test_one_lucky_sample_less_is_not_worse() -> None:
    scales = {"passes": (0.0, 1.0)}
    baseline = of_metric([[1.0] * 5], "passes", scales=scales)
    candidate = of_metric([[1.0, 1, 1, 1, 0]], "passes", scales=scales)

    [row] = compared(baseline, candidate).cases

    assert row.class_ == "same"
    assert row.p_value == pytest.approx(0.5)


@pytest.mark.parametrize("passed", [1, 2], ids=["5 of 5 to 1 of 5", "5 of 5 to 2 of 5"])
@pytest.mark.parametrize("known", [True, False], ids=["samples known", "mean and deviation known"])
def test_passes_are_compared_by_fishers_test(passed: int, *, known: bool) -> None:
    scales = {"passes": (0.0, 1.0)}
    baseline = run([case("a", {"passes": scores(1, 1, 1, 1, 1, known=known)})], scales=scales)
    candidate = run([case("a", {"passes": scores(*[1] * passed, *[0] * (5 - passed), known=known)})], scales=scales)

    [row] = compared(baseline, candidate).cases

    assert row.p_value == pytest.approx({1: 0.0238095, 2: 0.0833333}[passed], rel=1e-5)


def test_scores_are_compared_by_all_their_permutations() -> None:
    [row] = compared(of_metric([[4.0, 5.0, 5.0]]), of_metric([[2.0, 3.0, 3.0]])).cases

    assert row.p_value == pytest.approx(1 / 20)


@pytest.mark.parametrize(
    "candidate",
    [
        scores(1.0, 1.0),
        scores(1.0, 2.0, 3.0, known=False),
        CaseScores(3.0, 0.0, 4, 4, 0, None),
        CaseScores(3.0, None, 4, None, 0, None),
    ],
    ids=["two samples", "scores unknown", "all in the middle", "deviation unknown"],
)
def test_too_few_known_samples_are_neither_worse_nor_the_same(candidate: CaseScores) -> None:
    [row] = compared(of_metric([[5.0] * 5]), run([case("case-0", {"quality": candidate})])).cases

    assert (row.class_, row.p_value) == ("too_few", None)


def test_cases_without_change_are_the_same_with_certainty_one() -> None:
    comparison = compared(of_metric([[3.0, 4.0, 5.0]] * 3), of_metric([[5.0, 4.0, 3.0]] * 3))

    assert [(row.class_, row.p_value) for row in comparison.cases] == [("same", 1.0)] * 3
    assert [row.test_case_id for row in comparison.cases] == ["case-0", "case-1", "case-2"]


def test_single_samples_are_ordered_by_their_drop() -> None:
    rows = compared(of_metric([[3.0], [5.0], [2.0]]), of_metric([[3.0], [1.0], [4.0]])).cases

    assert [row.test_case_id for row in rows] == ["case-1", "case-0", "case-2"]
    assert {row.class_ for row in rows} == {"too_few"}


def test_rows_of_several_metrics_are_in_one_order() -> None:
    scales = {"quality": (1.0, 5.0), "passes": (0.0, 1.0)}
    sides = [
        run([case("a", {"quality": [value] * 4, "passes": [5 - value] * 4})], scales=scales) for value in (4.0, 5.0)
    ]

    rows = compared(*sides).cases

    assert [(row.metric, row.class_) for row in rows] == [("passes", "worse"), ("quality", "better")]


def test_ids_may_have_any_characters() -> None:
    ids = ["café", "", "日本", "\ud800", "a\nb"]

    rows = compared(*(run([case(each, {"quality": [3.0]}) for each in ids]) for _ in range(2))).cases

    assert [row.test_case_id for row in rows] == ids


def test_rows_can_be_counted_sliced_and_counted_from_the_end() -> None:
    rows = compared(of_metric([[3.0], [5.0], [2.0]]), of_metric([[3.0], [1.0], [4.0]])).cases

    assert len(rows) == 3
    assert rows[-1].test_case_id == "case-2"
    assert [row.test_case_id for row in rows[1:]] == ["case-0", "case-2"]
    assert list(rows) == [rows[0], rows[1], rows[2]]
    with pytest.raises(IndexError):
        rows[3]
