"""How each metric, criterion and flag of a run is labelled: its guideline, its scale, and one key per score."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prompt_evaluator.model.labelling import LabelScale, ScaleKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.rubric import Criterion, Flag
    from prompt_evaluator.store import Store

_STEP = re.compile(r"^\s*[-*•]?\s*(-?\d+)\s*(?:[:=)]|[-–]\s)\s*(.+?)\s*$", re.MULTILINE)  # noqa: RUF001 - a dash
"""A line of a guideline that says what one score means, such as `5: complete`."""
_MOST_KEYS = 10
_STEPS_OF_OTHERS = 5
_YES_OR_NO = 2
_LONGEST = 60


def label_scales(plan: RunPlan, more: Iterable[str] = ()) -> dict[str, LabelScale]:
    """How to label everything that a run measures, by name: criteria, flags, then metrics.

    Args:
        plan: The run's.
        more: Metrics that single cases ask for.
    """
    rubric = plan.rubric
    found = {each.name: _criterion(each) for each in (rubric.metrics if rubric else ())}
    found |= {each.name: _flag(each) for each in (rubric.flags if rubric else ())}
    for name in dict.fromkeys((*(use.key for use in plan.metrics), *more)):
        found.setdefault(name, _metric(name))
    return found


def metrics_of_cases(store: Store, run_id: str) -> list[str]:
    """Everything that was measured in a run, which includes what only single cases ask for."""
    summary = store.run_line(run_id).summary
    return list(summary.overall_metric_stats) if summary else []


def _criterion(each: Criterion) -> LabelScale:
    return LabelScale(
        metric=each.name,
        kind="criterion",
        description=each.description,
        guidelines=each.guidelines.strip(),
        low=each.min_score,
        high=each.max_score,
        pass_at=each.scale.pass_at,
        keys=_keys(each),
    )


def _flag(each: Flag) -> LabelScale:
    keys = (ScaleKey(key="y", value=1.0, text="yes, it applies"), ScaleKey(key="n", value=0.0, text="no"))
    return LabelScale(
        metric=each.name,
        kind="flag",
        description=each.description,
        guidelines="",
        low=0.0,
        high=1.0,
        pass_at=0.5,
        keys=keys,
    )


def _metric(name: str) -> LabelScale:
    return LabelScale(
        metric=name,
        kind="metric",
        description=f"Should the answer pass on {name}?",
        guidelines="",
        low=0.0,
        high=1.0,
        pass_at=1.0,
        keys=_pass_or_fail({}),
    )


def _keys(each: Criterion) -> tuple[ScaleKey, ...]:
    low, high = each.min_score, each.max_score
    meanings = {int(number): text[:_LONGEST] for number, text in _STEP.findall(each.guidelines)}
    if (low, high) == (0, 1):
        return _pass_or_fail(meanings)
    levels = int(high - low) + 1 if low == int(low) and high == int(high) else 0
    if low >= 0 and levels and (high < _MOST_KEYS or (high == _MOST_KEYS and low > 0)):
        return tuple(
            ScaleKey(key=str(value % _MOST_KEYS), value=float(value), text=meanings.get(value, ""))
            for value in range(int(low), int(high) + 1)
        )
    # Too many steps for the digits of a keyboard: five of them, evenly spaced.
    step = (high - low) / (_STEPS_OF_OTHERS - 1)
    values = [low + step * at for at in range(_STEPS_OF_OTHERS)]
    return tuple(
        ScaleKey(key=str(at), value=value, text=meanings.get(int(value), "") if value == int(value) else "")
        for at, value in enumerate(values, 1)
    )


def _pass_or_fail(meanings: dict[int, str]) -> tuple[ScaleKey, ...]:
    return (
        ScaleKey(key="y", value=1.0, text=meanings.get(1, "pass")),
        ScaleKey(key="n", value=0.0, text=meanings.get(0, "fail")),
    )
