"""Words for numbers, by the rules of the dataset guide."""

from __future__ import annotations

from typing import Literal

Variability = Literal["low", "moderate", "high"]
FlagBand = Literal["never", "rare", "occasional", "frequent", "majority"]

_GUIDE_RANGE = 4.0
"""The guide's bands are for scales from 1 to 5; other scales use them in proportion to their range."""


def variability(mean: float, std: float | None, scale: tuple[float, float]) -> Variability | None:
    """High above 1.0 or a fifth of the mean, low below 0.5 (on a scale from 1 to 5). None for a single value."""
    if std is None:
        return None
    unit = (scale[1] - scale[0]) / _GUIDE_RANGE
    if std > unit or std > 0.2 * abs(mean):
        return "high"
    return "low" if std < 0.5 * unit else "moderate"


def wide_range(low: float, high: float, scale: tuple[float, float]) -> bool:
    """Whether one case's scores span at least three quarters of the scale, as 2 and 5 do on a scale from 1 to 5."""
    return high - low >= 0.75 * (scale[1] - scale[0])


def flag_band(share: float) -> FlagBand:
    if share <= 0:
        return "never"
    bands: tuple[tuple[float, FlagBand], ...] = ((0.05, "rare"), (0.20, "occasional"), (0.50, "frequent"))
    for limit, band in bands:
        if share < limit or (limit == 0.50 and share <= limit):  # noqa: PLR2004
            return band
    return "majority"


def sample_confidence(samples: int) -> str:
    """How much this many samples per case can be trusted."""
    for most, level in ((1, "none"), (4, "low"), (9, "moderate"), (49, "high")):
        if samples <= most:
            return level
    return "very high"
