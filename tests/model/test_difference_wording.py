"""Differences, shares and p values as people read them."""

from __future__ import annotations

from entries import each

from prompt_evaluator.model.wording import p_value, points, short_number, signed

MINUS = "\N{MINUS SIGN}"


@each(
    ("value", "text"),
    [
        (0.42, "+0.42"),
        (-0.42, f"{MINUS}0.42"),
        (0.004, "0.00"),
        (-0.004, "0.00"),
        (0, "0.00"),
        (-1234.5, f"{MINUS}1,234.50"),
    ],
)
def test_a_difference_has_a_sign_unless_nothing_is_left_of_it(value: float, text: str) -> None:
    assert signed(value, 2) == text


@each(
    ("share", "text"),
    [(0.07, "+7 points"), (0.01, "+1 point"), (-0.004, f"{MINUS}0.4 points"), (0.123, "+12 points"), (0, "0 points")],
)
def test_a_difference_of_shares_is_in_points(share: float, text: str) -> None:
    assert points(share) == text


@each(
    ("value", "text"),
    [
        (0.0, "p < 0.001"),
        (0.0009, "p < 0.001"),
        (0.001, "p = 0.001"),
        (0.03, "p = 0.03"),
        (0.012, "p = 0.012"),
        (0.04999, "p < 0.05"),
        (0.05, "p = 0.05"),
        (0.55, "p = 0.55"),
        (0.999, "p > 0.99"),
    ],
)
def test_a_p_value_is_not_rounded_across_what_decides(value: float, text: str) -> None:
    assert p_value(value) == text


@each(("value", "text"), [(0.1, "0.1"), (0.025, "0.025"), (4.0, "4"), (3.3333, "3.33"), (2500.0, "2,500")])
def test_a_number_has_the_digits_that_matter(value: float, text: str) -> None:
    assert short_number(value) == text
