"""Merges the metrics requested by a run, a dataset and a case into one list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.case import MetricUse

if TYPE_CHECKING:
    from collections.abc import Sequence


def merged_uses(general: Sequence[MetricUse], specific: Sequence[MetricUse]) -> tuple[MetricUse, ...]:
    """Merge both lists by name, in order of first appearance; specific options override general ones.

    Raises:
        ValueError: The same name is used for two metrics.
    """
    if not general and len(specific) == 1:
        return tuple(specific)
    uses = {use.key: use for use in general}
    for use in specific:
        uses[use.key] = _merged(uses[use.key], use) if use.key in uses else use
    return tuple(uses.values())


def _merged(general: MetricUse, specific: MetricUse) -> MetricUse:
    if general.metric != specific.metric:
        both = f"{general.metric!r} and {specific.metric!r}"
        raise ValueError(f"two metrics, {both}, are called {specific.key!r}: give one of them another name")
    return MetricUse(
        metric=specific.metric,
        name=specific.name or general.name,
        judge=specific.judge or general.judge,
        negated=general.negated if specific.negated is None else specific.negated,
        options={**general.options, **specific.options},
    )
