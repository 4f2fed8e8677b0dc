"""Rows of small bars."""

from __future__ import annotations

import pytest

from prompt_evaluator.cli.sparkline import sparkline


def test_bars_rise_with_the_values() -> None:
    assert sparkline([1, 2, 3, 4, 5, 6, 7, 8], 20) == "▁▂▃▄▅▆▇█"


def test_a_line_is_drawn_before_each_cut() -> None:
    assert sparkline([1, 1, 9, 9, 1], 20, cuts=[2, 4]) == "▁▁│██│▁"


def test_equal_values_and_noise_stay_in_the_middle() -> None:
    assert sparkline([4, 4, 4], 20) == "▅▅▅"
    assert set(sparkline([4.0, 4.01, 3.99], 20, least=1.0)) <= {"▄", "▅"}


@pytest.mark.parametrize("count", [1, 79, 80, 200, 5_000])
def test_any_number_of_values_fits(count: int) -> None:
    bars = sparkline([float(at) for at in range(count)], 80, cuts=[count // 2] if count > 1 else [])

    assert len(bars) <= 80
    assert bars[-1] in "▅█"
