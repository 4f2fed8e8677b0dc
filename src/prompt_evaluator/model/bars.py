"""Bars: what a run has to reach, and what it says of those that it missed."""

from typing import Annotated, Literal

import msgspec

from prompt_evaluator.model.declaration import NUMBERS, SHARES, Option


class Bars(msgspec.Struct, frozen=True, kw_only=True):
    """What a run is held to. No part of what is evaluated, so a run that there is can be held to others."""

    fail_under: Annotated[
        dict[str, float],
        Option(
            help="The lowest mean a metric may have. Exits 1 when it is lower, or was not measured.",
            kind=NUMBERS,
            flags=("--fail-under",),
            metavar="METRIC=4.0",
        ),
    ] = {}
    fail_over: Annotated[
        dict[str, float],
        Option(
            help="The largest share of samples that may raise a flag. Exits 1 when it is larger, or was not measured.",
            kind=SHARES,
            flags=("--fail-over",),
            metavar="FLAG=0.05",
        ),
    ] = {}


class MissedBar(msgspec.Struct, frozen=True, kw_only=True):
    """A bar that a run did not reach. One on something that was not measured is missed."""

    name: str
    """Of the metric or the flag."""
    kind: Literal["fail_under", "fail_over"]
    """`fail_under` is about the mean of a metric, `fail_over` about the share of samples that raise a flag."""
    bar: float
    measured: float | None
    """The mean or the share; None where there is none."""
    reason: str
    """Why it was missed: a sentence."""
