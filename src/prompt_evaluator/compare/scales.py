"""On which scale a metric of two runs is compared."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prompt_evaluator.model.comparison import RunFacts

Scale = tuple[float, float]
_SHARE = (0.0, 1.0)
"""Of metrics outside the rubric, also those of single cases that a run does not list."""


class FoundScale(NamedTuple):
    """The scale of a metric in two runs."""

    scale: Scale
    other: Scale | None = None
    """The candidate's scale if the runs have different ones, so that their scores cannot be compared."""


def find_scale(metric: str, baseline: RunFacts, candidate: RunFacts) -> FoundScale:
    ours, theirs = (facts.scales.get(metric) for facts in (baseline, candidate))
    scale = ours or theirs or _SHARE
    return FoundScale(scale, theirs if theirs and theirs != scale else None)
