"""Classifies means and spread as good or poor, following the dataset guide."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_evaluator.model.findings import Scale
    from prompt_evaluator.model.result import OverallMetric

ENOUGH_FOR_SPREAD = 10
"""Samples per case needed to tell real spread from noise, according to the guide."""
COOLER = 0.3
"""The temperature that the guide recommends against spread."""
GOOD, POOR = 0.75, 0.5
"""Shares of the scale: at least 4 is good and below 3 is poor on a scale from 1 to 5."""
ENOUGH_PASS = 0.75
"""Share of samples that must pass for a metric to be marked as good."""


def is_spread(stats: OverallMetric) -> bool:
    """Whether samples vary more than the guide accepts, overall or in some cases."""
    return stats.variability == "high" or bool(stats.high_variability_cases)


def few_pass(stats: OverallMetric) -> bool:
    return stats.pass_rate is not None and stats.pass_rate < ENOUGH_PASS


def is_poor(stats: OverallMetric) -> bool:
    return _level(stats, stats.mean_of_means) < POOR


def is_good(stats: OverallMetric) -> bool:
    return not stats.below if stats.fail_under is not None else _level(stats, stats.mean_of_means) >= GOOD


def has_poor_cases(stats: OverallMetric) -> bool:
    if stats.fail_under is not None and stats.min_of_means < stats.fail_under:
        return True
    return _level(stats, stats.min_of_means) < POOR


def digits(scale: Scale | None) -> int:
    """Return how many decimal places suit the scale."""
    size = scale[1] - scale[0] if scale else 4.0
    return 3 if size <= 1 else 2 if size <= 10 else 1 if size <= 100 else 0  # noqa: PLR2004


def _level(stats: OverallMetric, value: float) -> float:
    low, high = stats.scale
    return (value - low) / (high - low) if high > low else 1.0
