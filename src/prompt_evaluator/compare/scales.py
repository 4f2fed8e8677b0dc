"""On which scale a metric of two runs is compared."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import RunFacts

Scale = tuple[float, float]
_USUAL: tuple[Scale, ...] = ((0.0, 1.0), (1.0, 5.0), (0.0, 5.0), (1.0, 10.0), (0.0, 10.0), (0.0, 100.0))
"""From narrow to wide."""


_UNLIKE = 2
"""If one scale is this many times as wide as the other, a better score may be the same score on another scale."""


class FoundScale(NamedTuple):
    """The scale of a metric in two runs."""

    scale: Scale
    stated: bool = True
    """Whether a run states it, and all scores are on it."""
    other: Scale | None = None
    """The candidate's scale if the runs state different ones, so that their scores cannot be compared."""
    guesses: tuple[Scale, Scale] | None = None
    """What each run's own scores look like, if neither states a scale and these differ."""

    @property
    def is_unsure(self) -> bool:
        """Whether the runs may have scored on scales so different that a higher score is not a better one."""
        if self.guesses is None:
            return False
        widths = [high - low for low, high in self.guesses]
        return max(widths) >= _UNLIKE * min(widths)


def find_scale(metric: str, baseline: RunFacts, candidate: RunFacts, seen: Scale) -> FoundScale:
    """A stated scale counts for more than a guessed one.

    Args:
        metric: Its name.
        baseline: One run.
        candidate: The other.
        seen: The lowest and highest scores.
    """
    stated = [_stated(metric, facts) for facts in (baseline, candidate)]
    if stated[0] and stated[1] and stated[0] != stated[1]:
        return FoundScale(stated[0], other=stated[1])
    known = stated[0] or stated[1]
    if known:
        whole = _hull(known, seen)
        return FoundScale(whole, stated=whole == known)
    guesses = [scale for facts in (baseline, candidate) if (scale := facts.scales.get(metric)) and scale[0] < scale[1]]
    if not guesses:
        return FoundScale(guess_scale(*seen), stated=False)
    differ = (guesses[0], guesses[-1]) if guesses[0] != guesses[-1] else None
    return FoundScale(guess_scale(*_hull(*guesses, seen)), stated=False, guesses=differ)


def guess_scale(lowest: float, highest: float) -> Scale:
    """The narrowest of the usual scales that has these scores, or else whole numbers around them and 0.

    The threshold is a share of the scale, so it should not depend on what the best answer happened to get.
    """
    usual = next((scale for scale in _USUAL if scale[0] <= lowest and highest <= scale[1]), None)
    return usual or (float(min(0, math.floor(lowest))), float(max(0, math.ceil(highest))))


def _stated(metric: str, facts: RunFacts) -> Scale | None:
    scale = facts.scales.get(metric)
    if scale is None or not scale[0] < scale[1] or metric in facts.guessed_scales:
        return None
    return float(scale[0]), float(scale[1])


def _hull(*scales: Scale) -> Scale:
    return min(low for low, _ in scales), max(high for _, high in scales)
