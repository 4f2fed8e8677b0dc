"""Is it better, and can I believe it?"""

from __future__ import annotations

from random import Random

import pytest
from compared_runs import case, compared, drawn, of_metric, run, scores
from entries import each

CENTRES = [2.2 + at % 20 / 8 for at in range(50)]


@each("seed", range(5))
def test_a_drop_of_half_a_point_on_50_cases_is_called_worse(seed: int) -> None:
    random = Random(seed)
    baseline = of_metric(drawn(random, [centre + 0.5 for centre in CENTRES], 5))
    candidate = of_metric(drawn(random, CENTRES, 5))

    assert compared(baseline, candidate).metrics["quality"].verdict == "worse"
    assert compared(candidate, baseline).metrics["quality"].verdict == "better"


def test_many_cases_that_hardly_differ_show_no_difference() -> None:
    random = Random(1)
    values = drawn(random, [3.0] * 1_000, 5)

    metric = compared(of_metric(values), of_metric(drawn(random, [3.0] * 1_000, 5))).metrics["quality"]

    assert metric.verdict == "no_difference"
    assert metric.low is not None
    assert metric.high is not None
    assert -0.1 <= metric.low <= metric.high <= 0.1
    assert metric.more_cases_needed == 0


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_below_five_cases_nothing_is_said(count: int) -> None:
    metric = compared(of_metric([[5.0, 5.0]] * count), of_metric([[1.0, 1.0]] * count)).metrics["quality"]

    assert (metric.verdict, metric.low, metric.high, metric.p_value) == ("inconclusive", None, None, None)
    assert (metric.cases, metric.difference, metric.losses) == (count, -4.0, count)


@pytest.mark.parametrize("values", [[3.0, 3.0, 3.0], [3.0], [1.0]], ids=["three samples", "one sample", "lowest"])
def test_five_identical_cases_are_not_no_difference(values: list[float]) -> None:
    metric = compared(of_metric([values] * 5), of_metric([values] * 5)).metrics["quality"]

    assert metric.verdict == "inconclusive"
    assert metric.difference == 0
    assert metric.more_cases_needed is not None
    assert metric.more_cases_needed > 100


def test_as_many_identical_cases_as_were_needed_show_no_difference() -> None:
    few = compared(of_metric([[3.0, 4.0]] * 5), of_metric([[3.0, 4.0]] * 5)).metrics["quality"]
    assert few.more_cases_needed is not None
    enough = 5 + few.more_cases_needed

    metric = compared(of_metric([[3.0, 4.0]] * enough), of_metric([[3.0, 4.0]] * enough)).metrics["quality"]

    assert (metric.verdict, metric.more_cases_needed) == ("no_difference", 0)


def test_passes_and_failures_with_one_sample_are_tested_exactly() -> None:
    baseline = of_metric([[1.0]] * 20, "passes", scales={"passes": (0.0, 1.0)})
    candidate = of_metric([[1.0]] * 12 + [[0.0]] * 8, "passes", scales={"passes": (0.0, 1.0)})

    metric = compared(baseline, candidate).metrics["passes"]

    assert metric.method == "exact_paired"
    assert metric.p_value == pytest.approx(2 / 2**8)
    assert (metric.verdict, metric.wins, metric.losses, metric.ties) == ("worse", 0, 8, 12)
    assert metric.threshold == pytest.approx(0.025)


def test_several_samples_of_passes_and_failures_are_means() -> None:
    scales = {"passes": (0.0, 1.0)}
    baseline = of_metric([[1.0, 1.0], [1.0, 0.0]] * 10, "passes", scales=scales)
    candidate = of_metric([[0.0, 1.0], [1.0, 0.0]] * 10, "passes", scales=scales)

    assert compared(baseline, candidate).metrics["passes"].method == "paired_t"


def test_a_difference_of_exactly_the_threshold_is_not_beyond_it() -> None:
    """The floats 0.1 + 0.2 and 0.2 differ by more than 0.1."""
    scales = {"share": (0.0, 4.0)}
    baseline = of_metric([[0.2]] * 400, "share", scales=scales)
    candidate = of_metric([[0.1 + 0.2]] * 400, "share", scales=scales)

    metric = compared(baseline, candidate).metrics["share"]

    assert metric.difference == pytest.approx(0.1)
    assert metric.verdict == "inconclusive"
    assert compared(baseline, candidate, metric_threshold=0.09).metrics["share"].verdict == "better"


def test_the_threshold_is_in_proportion_to_the_scale() -> None:
    scales = {"percent": (0.0, 100.0), "quality": (1.0, 5.0)}
    cases = [case(f"case-{at}", {"percent": [50.0 + at], "quality": [3.0]}) for at in range(9)]

    metrics = compared(run(cases, scales=scales), run(cases, scales=scales), metric_threshold=0.2).metrics

    assert {name: metric.threshold for name, metric in metrics.items()} == {"percent": 5.0, "quality": 0.2}


def test_a_metric_that_only_one_run_has_is_worse_and_has_no_difference() -> None:
    baseline = of_metric([[4.0, 5.0]] * 6)
    candidate = of_metric([[]] * 6)

    lost = compared(baseline, candidate).metrics["quality"]
    new = compared(candidate, baseline).metrics["quality"]

    assert (lost.verdict, lost.missing, lost.difference, lost.baseline_mean) == ("worse", "candidate", None, 4.5)
    assert (new.verdict, new.missing, new.candidate_mean, new.baseline_mean) == ("worse", "baseline", 4.5, None)


def test_a_metric_that_neither_run_has_scored_is_inconclusive() -> None:
    metric = compared(of_metric([[]] * 6), of_metric([[]] * 6)).metrics["quality"]

    assert (metric.verdict, metric.missing, metric.cases) == ("inconclusive", None, 0)


def test_a_metric_scored_in_different_cases_is_inconclusive() -> None:
    metric = compared(of_metric([[4.0]] * 6 + [[]] * 6), of_metric([[]] * 6 + [[4.0]] * 6)).metrics["quality"]

    assert (metric.verdict, metric.missing, metric.cases, metric.baseline_mean) == ("inconclusive", None, 0, None)


def test_different_scales_are_not_compared() -> None:
    baseline = of_metric([[4.0]] * 9)
    candidate = of_metric([[0.4]] * 9, scales={"quality": (0.0, 1.0)})

    comparison = compared(baseline, candidate, allow_different=True)

    metric = comparison.metrics["quality"]
    assert (metric.verdict, metric.difference, metric.baseline_mean) == ("inconclusive", None, None)
    assert (
        "quality is not compared: its scale is 1 to 5 in the baseline, 0 to 1 in the candidate." in comparison.warnings
    )
    assert not comparison.cases


def test_missing_scores_are_left_out_and_what_they_could_change_is_said() -> None:
    baseline = run([case(f"case-{at}", {"quality": [4.0] * 4}) for at in range(10)])
    candidate = run([case(f"case-{at}", {"quality": scores(4.0, 4.0, missing=2)}) for at in range(10)])

    comparison = compared(baseline, candidate)

    assert comparison.metrics["quality"].difference == 0
    [sentence] = comparison.warnings
    assert sentence.startswith(
        "quality: 0 % of the baseline's scores and 50 % of the candidate's are missing; if these"
    )
    assert sentence.endswith("the difference would be anywhere from \N{MINUS SIGN}1.50 to +0.50.")


def test_a_case_without_any_score_in_one_run_counts_as_missing_there() -> None:
    comparison = compared(of_metric([[5.0] * 4] * 10), of_metric([[5.0] * 4] * 9 + [[]]))

    assert comparison.metrics["quality"].cases == 9
    assert "10 % of the candidate's are missing" in comparison.warnings[0]
    assert "from \N{MINUS SIGN}0.40 to 0.00" in comparison.warnings[0]


def test_more_samples_help_where_the_samples_of_a_case_vary() -> None:
    random = Random(3)
    noisy = [of_metric(drawn(random, [3.0] * 30, 3, spread=1.2)) for _ in range(2)]
    steady = of_metric([[3.0, 3.0, 3.0]] * 30), of_metric([[2.0 + at % 3] * 3 for at in range(30)])

    varied, fixed = (compared(*sides).metrics["quality"] for sides in (noisy, steady))

    assert varied.more_samples_needed is not None
    assert varied.more_samples_needed > 3
    assert fixed.more_samples_needed is None
    assert varied.detectable is not None
    assert varied.detectable > varied.threshold


def test_one_sample_per_case_does_not_tell_how_many_more_would_help() -> None:
    random = Random(3)
    metric = compared(*(of_metric(drawn(random, [3.0] * 30, 1)) for _ in range(2))).metrics["quality"]

    assert metric.more_samples_needed is None
    assert metric.more_cases_needed


def test_two_results_of_one_run_are_pointed_out() -> None:
    one, other = (of_metric([[3.0]] * 6, run_id="r-1") for _ in range(2))

    assert "Both are results of the same run, r-1." in compared(one, other).warnings
    assert not any("same run" in said for said in compared(one, of_metric([[3.0]] * 6, run_id="r-2")).warnings)
