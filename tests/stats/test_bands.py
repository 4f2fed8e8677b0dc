"""The words of the dataset guide, number by number."""

from __future__ import annotations

from entries import each

from prompt_evaluator.stats import flag_band, sample_confidence, variability
from prompt_evaluator.stats.bands import wide_range

GUIDE = (1.0, 5.0)


@each(
    ("mean", "std", "expected"),
    [
        (4.2, 0.3, "low"),
        (4.2, 0.0, "low"),
        (4.2, 0.499, "low"),
        (4.2, 0.5, "moderate"),
        (5.0, 1.0, "moderate"),
        (5.0, 1.001, "high"),
        (4.5, 1.2, "high"),
        (2.0, 0.41, "high"),
        (2.0, 0.4, "low"),
        (4.2, None, None),
    ],
)
def test_variability_is_high_above_1_or_a_fifth_of_the_mean(
    mean: float, std: float | None, expected: str | None
) -> None:
    assert variability(mean, std, GUIDE) == expected


@each(
    ("mean", "std", "scale", "expected"),
    [
        (90.0, 17.0, (0, 100), "moderate"),
        (90.0, 12.0, (0, 100), "low"),
        (99.0, 26.0, (0, 100), "high"),
        (0.9, 0.17, (0, 1), "moderate"),
        (0.9, 0.3, (0, 1), "high"),
        (-0.9, 0.3, (-1, 1), "high"),
        (0.0, 0.1, (-1, 1), "high"),
    ],
)
def test_on_other_scales_the_bands_grow_with_the_range(
    mean: float, std: float, scale: tuple[float, float], expected: str
) -> None:
    assert variability(mean, std, scale) == expected


@each(
    ("low", "high", "scale", "wide"),
    [(2.0, 5.0, GUIDE, True), (2.5, 5.0, GUIDE, False), (1.0, 5.0, GUIDE, True), (0, 75, (0, 100), True)],
)
def test_a_range_is_wide_from_three_quarters_of_the_scale(
    low: float, high: float, scale: tuple[float, float], *, wide: bool
) -> None:
    assert wide_range(low, high, scale) is wide


@each(
    ("share", "band"),
    [
        (0.0, "never"),
        (0.001, "rare"),
        (0.0499, "rare"),
        (0.05, "occasional"),
        (0.12, "occasional"),
        (0.1999, "occasional"),
        (0.2, "frequent"),
        (0.5, "frequent"),
        (0.501, "majority"),
        (1.0, "majority"),
    ],
)
def test_a_flags_share_has_a_word(share: float, band: str) -> None:
    assert flag_band(share) == band


@each(
    ("samples", "level"),
    [
        (1, "none"),
        (2, "low"),
        (4, "low"),
        (5, "moderate"),
        (9, "moderate"),
        (10, "high"),
        (20, "high"),
        (49, "high"),
        (50, "very high"),
        (500, "very high"),
    ],
)
def test_more_samples_can_be_trusted_more(samples: int, level: str) -> None:
    assert sample_confidence(samples) == level
