"""Bars: the limits a run is held to, and the ones it missed."""

from typing import Annotated, Literal

import msgspec

from prompt_evaluator.model.declaration import NUMBERS, SHARES, Option


class Bars(msgspec.Struct, frozen=True, kw_only=True):
    """The limits a run is held to. They do not affect the evaluation, so an existing run can be held to others."""

    fail_under: Annotated[
        dict[str, float],
        Option(
            help="Lowest acceptable mean of a metric. Exits 1 if the mean is lower or was not measured.",
            kind=NUMBERS,
            flags=("--fail-under",),
            metavar="METRIC=4.0",
        ),
    ] = {}
    fail_over: Annotated[
        dict[str, float],
        Option(
            help="Largest acceptable share of samples that raise a flag. Exits 1 if it is larger or was not measured.",
            kind=SHARES,
            flags=("--fail-over",),
            metavar="FLAG=0.05",
        ),
    ] = {}


class MissedBar(msgspec.Struct, frozen=True, kw_only=True):
    """A bar that a run missed. A bar on a value that was not measured is missed."""

    name: str
    """Name of the metric or flag."""
    kind: Literal["fail_under", "fail_over"]
    """`fail_under` limits the mean of a metric, `fail_over` the share of samples that raise a flag."""
    bar: float
    measured: float | None
    """The mean or the share; None if there is none."""
    reason: str
    """Why it was missed, as a sentence."""
