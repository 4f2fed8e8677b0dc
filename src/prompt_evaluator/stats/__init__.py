"""Numbers in, numbers out: how much scores vary, how sure we are of a mean, and what that means in words."""

from prompt_evaluator.stats.bands import FlagBand, Variability, flag_band, sample_confidence, variability
from prompt_evaluator.stats.intervals import Interval, mean_interval, resampled_mean, resampled_share
from prompt_evaluator.stats.spread import Spread, spread

__all__ = [
    "FlagBand",
    "Interval",
    "Spread",
    "Variability",
    "flag_band",
    "mean_interval",
    "resampled_mean",
    "resampled_share",
    "sample_confidence",
    "spread",
    "variability",
]
