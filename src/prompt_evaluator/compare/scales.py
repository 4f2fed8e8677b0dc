"""On which scale a metric of two runs is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import RunFacts

Scale = tuple[float, float]
_USUAL: tuple[Scale, ...] = ((0.0, 1.0), (1.0, 5.0))


class FoundScale(NamedTuple):
    """The scale of a metric in two runs."""

    scale: Scale
    stated: bool = True
    """Whether a run states it, and all scores are on it."""
    other: Scale | None = None
    """The candidate's scale if the runs state different ones, so that their scores cannot be compared."""


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
    if guesses:
        return FoundScale(_hull(*guesses, seen), stated=False)
    usual = next((scale for scale in _USUAL if _hull(scale, seen) == scale), None)
    return FoundScale(usual or _hull(_USUAL[0], seen), stated=False)


def _stated(metric: str, facts: RunFacts) -> Scale | None:
    scale = facts.scales.get(metric)
    if scale is None or not scale[0] < scale[1] or metric in facts.guessed_scales:
        return None
    return float(scale[0]), float(scale[1])


def _hull(*scales: Scale) -> Scale:
    return min(low for low, _ in scales), max(high for _, high in scales)
