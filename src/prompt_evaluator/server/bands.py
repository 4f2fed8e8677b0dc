"""A metric over its runs as a picture of a line within its band, which needs no script."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.trend import MetricTrend

_EDGE = 4.0
_COVERED = 1.959964
"""Standard errors to each side of a mean that a 95 % band has."""


class Band(NamedTuple):
    """Paths of the picture."""

    width: float
    height: float
    area: str
    line: str
    changes: str
    """A rule where each new level begins."""
    last: tuple[float, float]


def band(metric: MetricTrend, width: float, height: float) -> Band:
    """Where everything goes. Runs are equally far apart, the oldest on the left."""
    halves = [_COVERED * (point.error or 0.0) for point in metric.points]
    means = [point.mean for point in metric.points]
    lows, highs = _moved(means, halves, -1), _moved(means, halves, 1)
    bottom, span = min(lows), (max(highs) - min(lows)) or 1.0
    step = (width - 2 * _EDGE) / max(1, len(means) - 1)

    def places(values: Sequence[float]) -> list[tuple[float, float]]:
        room = height - 2 * _EDGE
        return [(_EDGE + step * at, height - _EDGE - room * (value - bottom) / span) for at, value in enumerate(values)]

    starts = {change.run_id for change in metric.changes}
    line = places(means)
    rules = [place for place, point in zip(line, metric.points, strict=True) if point.run_id in starts]
    return Band(
        width,
        height,
        _path([*places(highs), *reversed(places(lows))]) + "z" if any(halves) else "",
        _path(line),
        "".join(f"M{x:.1f} 0V{height:g}" for x, _ in rules),
        line[-1],
    )


def _moved(means: Sequence[float], halves: Sequence[float], sign: int) -> list[float]:
    return [mean + sign * half for mean, half in zip(means, halves, strict=True)]


def _path(places: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in places)
