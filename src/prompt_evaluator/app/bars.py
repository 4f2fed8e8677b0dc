"""Checks bars before anything is paid for: each must be about something the run measures, within its scale."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.errors import ConfigurationError, UnknownNameError
from prompt_evaluator.model.options import OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prompt_evaluator.model import RunPlan, TestCase
    from prompt_evaluator.model.bars import Bars

_UNDER, _OVER = OPTIONS["fail_under"].flag, OPTIONS["fail_over"].flag


def check_bars(plan: RunPlan, bars: Bars | RunPlan, scores: Iterable[str]) -> None:
    """Refuse bars that cannot apply to a run.

    Args:
        plan: The run.
        bars: Its own bars, or additional ones.
        scores: Names of all its scores; read only until those of the bars are found.

    Raises:
        ConfigurationError: The run has no such metric or flag, or a bar is outside its scale.
    """
    names = _found(bars.fail_under, scores)
    flags = [flag.name for flag in plan.rubric.flags] if plan.rubric else []
    for name, bar in bars.fail_under.items():
        if name in flags:
            what = f"{name!r} is a flag, but {_UNDER} is for metrics."
            raise ConfigurationError(f"{what} Use {_OVER} {name}=SHARE, with the share of samples that may raise it.")
        if name not in names:
            raise UnknownNameError("metric", name, names)
        _check_scale(plan, name, bar)
    for name in bars.fail_over:
        if name not in flags:
            raise _no_such_flag(plan, name, flags)


def with_bars(plan: RunPlan, bars: Bars) -> RunPlan:
    """The plan with these bars added; each replaces an existing one on the same metric or flag."""
    return msgspec.structs.replace(
        plan, fail_under=plan.fail_under | bars.fail_under, fail_over=plan.fail_over | bars.fail_over
    )


def score_names(plan: RunPlan, cases: Iterable[TestCase]) -> Iterator[str]:
    """Names of all scores of a run, those of single cases last. No metric is built."""
    yield from (criterion.name for criterion in plan.rubric.metrics) if plan.rubric else ()
    yield from (use.key for use in plan.metrics)
    yield from (use.key for case in cases for use in case.checks)


def _found(wanted: Iterable[str], scores: Iterable[str]) -> dict[str, None]:
    left, found = set(wanted), dict[str, None]()
    for name in scores if left else ():
        found[name] = None
        left.discard(name)
        if not left:
            break
    return found


def _check_scale(plan: RunPlan, name: str, bar: float) -> None:
    scale = plan.scale(name)
    if not scale.low <= bar <= scale.high:
        ends = f"{scale.low:g} to {scale.high:g}"
        what = f"{_UNDER} {name}={bar:g} is outside the scale of {name}."
        raise ConfigurationError(f"{what} Give a value from {ends}.")


def _no_such_flag(plan: RunPlan, name: str, flags: list[str]) -> ConfigurationError:
    if plan.rubric is None:
        what = f"{_OVER} {name} needs a rubric: only rubrics have flags, and this run has no rubric."
        return ConfigurationError(f"{what} Choose one with {OPTIONS['rubric'].flag}.")
    if name in [criterion.name for criterion in plan.rubric.metrics]:
        what = f"{name!r} is a metric, but {_OVER} is for flags."
        return ConfigurationError(f"{what} Use {_UNDER} {name}=VALUE, with the lowest mean it may have.")
    if not flags:
        return ConfigurationError(f"There is no flag {name!r}: the rubric {plan.rubric.name!r} has no flags.")
    return UnknownNameError("flag", name, flags)
