"""The score of each case in one run against that in the other, as dots to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from prompt_evaluator.model.comparison import CLASSES, CaseClass
from prompt_evaluator.model.wording import short_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from prompt_evaluator.app.serving.compare_filter import Mask
    from prompt_evaluator.app.serving.compared_pair import MetricCases
    from prompt_evaluator.model.condition import Condition

SIDE = 252
"""Pixels of the square in which dots are drawn."""
_MOST_DOTS = 2_000
_STEPS = (1, 2, 4, 6, 9, 14, 21)
"""Pixels within which dots are drawn as one, until there are few enough."""
_SIZES = ((100, 15), (20, 12), (5, 9.5), (2, 7), (1, 5))
"""Cases in a dot, and its width."""
_TICKS = 5
_ORDER: tuple[CaseClass, ...] = ("same", "too_few", "better", "worse")


class Dots(msgspec.Struct, frozen=True, kw_only=True):
    """Dots of one look, as one path."""

    class_: CaseClass
    matches: bool
    """Whether their cases match the filter."""
    width: float
    path: str


class Tick(msgspec.Struct, frozen=True, kw_only=True):
    """A number at an axis."""

    at: float
    label: str


class Selected(msgspec.Struct, frozen=True, kw_only=True):
    """The rectangle that the filter selects, in pixels."""

    x: float
    y: float
    width: float
    height: float


class Scatter(msgspec.Struct, frozen=True, kw_only=True):
    """The picture."""

    side: int
    low: float
    high: float
    ticks: tuple[Tick, ...]
    dots: tuple[Dots, ...]
    selected: Selected | None
    bounds: dict[str, str]
    """What the filter says, as typed: `a>=` to a number."""
    is_shared: bool
    """Whether some dots are several cases."""


def scatter(cases: MetricCases, matching: Mask, scale: tuple[float, float], bounds: Sequence[Condition]) -> Scatter:
    """Arrange the cases of a metric on the square of its scale."""
    low, high = scale
    span = (high - low) or 1.0
    x = _pixels((cases.baseline - low) / span)
    y = SIDE - _pixels((cases.candidate - low) / span)
    looks = cases.classes.astype(int) * 2 + matching
    for step in _STEPS:
        dots, counts = _grouped(x // step * step, y // step * step, looks)
        if len(dots) <= _MOST_DOTS or step == _STEPS[-1]:
            break
    return Scatter(
        side=SIDE,
        low=low,
        high=high,
        ticks=tuple(
            Tick(at=SIDE * at / (_TICKS - 1), label=short_number(low + span * at / (_TICKS - 1)))
            for at in range(_TICKS)
        ),
        dots=tuple(_paths(dots, counts, step)),
        selected=_selected(bounds, low, span) if bounds else None,
        bounds={f"{each.field}{each.operator[:1]}": each.value for each in bounds},
        is_shared=len(dots) < len(cases.ids),
    )


def _pixels(shares: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return (shares.clip(0, 1) * SIDE).round().astype(int)


def _grouped(
    x: npt.NDArray[np.int64], y: npt.NDArray[np.int64], looks: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Each place and look once, with how many cases it has."""
    import numpy as np  # noqa: PLC0415 - takes a tenth of a second

    return np.unique((looks << 24) | (x << 12) | y, return_counts=True)


def _paths(dots: npt.NDArray[np.int64], counts: npt.NDArray[np.int64], step: int) -> Iterator[Dots]:
    """One path for all dots of the same look and size; those that do not match lie below all others."""
    found: dict[tuple[int, float], list[str]] = {}
    half = step // 2
    for dot, count in zip(dots.tolist(), counts.tolist(), strict=True):
        width = next(width for least, width in _SIZES if count >= least)
        x, y = (dot >> 12 & 0xFFF) + half, (dot & 0xFFF) + half
        found.setdefault((dot >> 24, width), []).append(f"M{x} {y}h0")
    for matches in (False, True):
        for class_ in _ORDER:
            look = CLASSES.index(class_) * 2 + matches
            for width in sorted(width for each, width in found if each == look):
                yield Dots(class_=class_, matches=matches, width=width, path="".join(found[look, width]))


def _selected(bounds: Sequence[Condition], low: float, span: float) -> Selected:
    def between(side: str) -> tuple[float, float]:
        numbers = {each.operator[:1]: each.number for each in bounds if each.field == side}
        ends = ((numbers.get(sign, default) - low) / span for sign, default in ((">", low), ("<", low + span)))
        least, most = (SIDE * min(max(share, 0.0), 1.0) for share in ends)
        return least, max(most, least)

    (left, right), (bottom, top) = between("a"), between("b")
    return Selected(x=left, y=SIDE - top, width=right - left, height=top - bottom)
