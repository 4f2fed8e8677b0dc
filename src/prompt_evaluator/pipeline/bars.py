"""Which bars a run has missed, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.bars import MissedBar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from prompt_evaluator.model import RunPlan
    from prompt_evaluator.model.result import OverallFlag, OverallMetric

_FEWEST_DIGITS, _MOST_DIGITS = 2, 12


def missed_bars(
    plan: RunPlan,
    metrics: Mapping[str, OverallMetric],
    flags: Mapping[str, OverallFlag],
    not_measured: Mapping[str, str],
) -> Iterator[MissedBar]:
    """Yield missed bars, those on metrics first, in the order given.

    Args:
        plan: Holds the bars.
        metrics: All metrics with a mean.
        flags: All flags, including those never judged.
        not_measured: Why a metric or flag has no value.
    """
    for name, bar in plan.fail_under.items():
        mean = metrics[name].mean_of_means if name in metrics else None
        if mean is None or mean < bar:
            reason = _unmeasured(name, f"{bar:g}", not_measured)
            if mean is not None:
                reason = f"{name} is {_distinct(mean, bar)}, below its bar of {bar:g}."
            yield MissedBar(name=name, kind="fail_under", bar=bar, measured=mean, reason=reason)
    for name, bar in plan.fail_over.items():
        share = flags[name].true_proportion if name in flags else None
        if share is None or share > bar:
            limit = f"{bar * 100:g} %"
            reason = _unmeasured(name, limit, not_measured)
            if share is not None:
                raised = _distinct(share * 100, bar * 100)
                reason = f"{name} is raised in {raised} % of the samples, above its bar of {limit}."
            yield MissedBar(name=name, kind="fail_over", bar=bar, measured=share, reason=reason)


def _unmeasured(name: str, bar: str, not_measured: Mapping[str, str]) -> str:
    why = not_measured.get(name, "no sample was judged")
    return f"{name} was not measured, so its bar of {bar} is missed: {why}."


def _distinct(value: float, bar: float) -> str:
    """Format with enough digits to differ from the bar."""
    for digits in range(_FEWEST_DIGITS, _MOST_DIGITS):
        if float(text := f"{value:.{digits}f}") != bar:
            return text
    return str(value)
