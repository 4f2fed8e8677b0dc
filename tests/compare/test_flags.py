from __future__ import annotations

import pytest
from compared_runs import MemoryRun, case, compared, run


def flagged(*raised: int, asked: int = 5) -> MemoryRun:
    return run([case(f"case-{at}", {}, flags={"rude": (count, asked)}) for at, count in enumerate(raised)])


def test_a_flag_that_is_raised_more_often_is_worse() -> None:
    rare, often = flagged(*[0, 1] * 10), flagged(*[3, 2] * 10)

    worse, better = compared(rare, often).flags["rude"], compared(often, rare).flags["rude"]

    assert (worse.verdict, worse.losses, worse.wins) == ("worse", 20, 0)
    assert [worse.baseline_share, worse.candidate_share] == pytest.approx([0.1, 0.5])
    assert (better.verdict, better.wins) == ("better", 20)
    assert better.difference == pytest.approx(-0.4)
    assert worse.threshold == 0.05


def test_a_flag_asked_once_per_case_is_tested_exactly() -> None:
    flag = compared(flagged(*[0] * 20, asked=1), flagged(*[1] * 8, *[0] * 12, asked=1)).flags["rude"]

    assert (flag.method, flag.verdict) == ("exact_paired", "worse")
    assert flag.p_value == pytest.approx(2 / 2**8)


def test_a_flag_never_raised_in_five_cases_is_not_no_difference() -> None:
    flag = compared(flagged(*[0] * 5), flagged(*[0] * 5)).flags["rude"]

    assert (flag.verdict, flag.difference) == ("inconclusive", 0)


def test_a_flag_that_only_one_run_was_asked_about_is_worse() -> None:
    asked, not_asked = flagged(*[1] * 6), run([case(f"case-{at}", {}) for at in range(6)])

    flag = compared(asked, not_asked).flags["rude"]

    assert (flag.verdict, flag.missing) == ("worse", "candidate")
    assert flag.baseline_share == pytest.approx(0.2)


def test_a_case_whose_flag_was_never_judged_is_left_out() -> None:
    flag = compared(flagged(*[1] * 6, asked=0), flagged(*[1] * 6)).flags["rude"]

    assert (flag.cases, flag.missing) == (0, "baseline")
