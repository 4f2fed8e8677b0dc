"""Which metrics apply to a case: what the run asks for, with what the dataset and the case say over it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.case import MetricUse

if TYPE_CHECKING:
    from collections.abc import Sequence


def merged_uses(general: Sequence[MetricUse], specific: Sequence[MetricUse]) -> tuple[MetricUse, ...]:
    """Uses by name, in order of first appearance; of two with one name the specific one's options win.

    Raises:
        ValueError: One name stands for two different metrics.
    """
    if not specific:
        return tuple(general)
    found = {use.key: use for use in general}
    for use in specific:
        known = found.get(use.key)
        found[use.key] = use if known is None else _merged(known, use)
    return tuple(found.values())


def _merged(general: MetricUse, specific: MetricUse) -> MetricUse:
    if general.metric != specific.metric:
        raise ValueError(
            f"the name {general.key!r} is used for two metrics, {general.metric!r} and {specific.metric!r}: "
            "give one of them another name"
        )
    return MetricUse(
        metric=general.metric,
        name=general.name,
        judge=specific.judge or general.judge,
        negated=specific.negated or general.negated,
        options={**general.options, **specific.options},
    )
