"""Changes of a series of means, and how much its runs differ beyond what their samples explain."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.model.trend import FEWEST_RUNS, TrendChange
from prompt_evaluator.stats.changes import Changes, find_changes
from prompt_evaluator.stats.distributions import normal_quantile, t_quantile
from prompt_evaluator.stats.excess import Excess, excess_of_repeats, excess_within

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prompt_evaluator.app.trend_errors import Errors
    from prompt_evaluator.model.trend import TrendDifference
    from prompt_evaluator.stats.changes import ChangePoint

_LEVEL = 0.05
_NOTED = 0.01
"""Less than this chance of the variance between runs is worth a note: it is shown without being asked for."""
_FEWEST_REPEATS = 5
"""Pairs of neighbouring runs with the same configuration, to tell how much such runs differ."""


class Stamp(NamedTuple):
    """Which run, and when."""

    run_id: str
    started_at: str


class Series(NamedTuple):
    """The runs of a trend, oldest first."""

    stamps: list[Stamp]
    means: list[float]
    differences: Sequence[tuple[TrendDifference, ...]]
    """Of each run from the one before."""


class Analysis(NamedTuple):
    """What a series shows."""

    errors: Errors | None
    changes: Changes
    excess: Excess | None
    """How much runs differ beyond their samples; None if samples explain it."""
    included: bool
    """Whether the errors include that."""


def analysed(series: Series, errors: Errors | None, *, smallest: float = 0.0) -> Analysis:
    """Find the changes that are at least `smallest`."""
    errors, excess = _widened(series, errors)
    included = excess is not None
    changes = Changes((), ())
    if errors and len(series.means) >= FEWEST_RUNS:
        changes = find_changes(series.means, errors.values, smallest=smallest, freedom=errors.freedom)
        excess = excess or _left(series.means, errors, changes)
    return Analysis(errors, changes, excess, included)


def trend_changes(
    series: Series, found: Analysis, since: Callable[[int, int], tuple[TrendDifference, ...]]
) -> tuple[TrendChange, ...]:
    """The changes for people; `since` gives what differs between two runs of the series."""
    return tuple(_change(series, point, found, since) for point in found.changes.points)


def _change(
    series: Series, point: ChangePoint, found: Analysis, since: Callable[[int, int], tuple[TrendDifference, ...]]
) -> TrendChange:
    freedom = found.errors.freedom if found.errors else None
    half = (t_quantile(0.975, freedom) if freedom else normal_quantile(0.975)) * point.error
    at, before = point.index, point.index - 1
    while before in found.changes.blips:
        before -= 1
    differences = series.differences
    changed = since(before, at)
    near = [*differences[at - 1], *(differences[at + 1] if at + 1 < len(differences) else ())]
    return TrendChange(
        run_id=series.stamps[at].run_id,
        previous_run_id=series.stamps[before].run_id,
        started_at=series.stamps[at].started_at,
        before=point.before,
        after=point.after,
        low=point.after - point.before - half,
        high=point.after - point.before + half,
        p_value=point.p,
        differences=changed,
        nearby=() if changed else tuple(near),
        newest=at == len(series.stamps) - 1,
    )


def _widened(series: Series, errors: Errors | None) -> tuple[Errors | None, Excess | None]:
    """Errors that include how much repeats of the same configuration differ beyond their samples."""
    if errors is None or errors.noise not in ("samples", "all_runs"):
        return errors, None
    means = series.means
    squares = [value**2 for value in errors.values]
    pairs = [
        (means[at] - means[at - 1], squares[at] + squares[at - 1])
        for at in range(1, len(means))
        if not series.differences[at]
    ]
    excess = excess_of_repeats(pairs)
    if len(pairs) < _FEWEST_REPEATS or excess.p >= _LEVEL or not excess.variance:
        return errors, None
    return errors._replace(values=[math.sqrt(square + excess.variance) for square in squares]), excess


def _left(means: Sequence[float], errors: Errors, changes: Changes) -> Excess | None:
    """The variance between changes that samples do not explain."""
    if errors.noise not in ("samples", "all_runs"):
        return None
    kept = [at for at in range(len(means)) if at not in changes.blips]
    cuts = [kept.index(point.index) for point in changes.points]
    excess = excess_within([means[at] for at in kept], [errors.values[at] for at in kept], cuts)
    return excess if excess.p < _NOTED and excess.variance else None
