"""Pure statistics: how much scores vary, how certain a mean is, and the words for both.

What only comparisons need is imported from its own module: `paired`, `exact`, `multiple`, `power`, `bradley_terry`.
"""

from prompt_evaluator.stats.bands import FlagBand, Variability, flag_band, sample_confidence, variability
from prompt_evaluator.stats.intervals import (
    FEWEST_CASES,
    Interval,
    case_mean_interval,
    clopper_pearson,
    clustered_share_interval,
    mean_interval,
    wilson,
)
from prompt_evaluator.stats.spread import Spread, spread

__all__ = [
    "FEWEST_CASES",
    "FlagBand",
    "Interval",
    "Spread",
    "Variability",
    "case_mean_interval",
    "clopper_pearson",
    "clustered_share_interval",
    "flag_band",
    "mean_interval",
    "sample_confidence",
    "spread",
    "variability",
    "wilson",
]
