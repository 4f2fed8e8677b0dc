"""Places the samples of a case on an axis: one mark each, equal values on top of each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from prompt_evaluator.app.serving.case_page import Axis, Tick

_EDGE, _UNSCORED = 8.0, 16.0
"""Left and right of the axis; the width of the place for samples without a score."""
_STEP = 7.0
"""Between marks on top of each other, if there is room."""
_SHAPES = {
    "pass": "m-2.5 0a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0z",
    "fail": "m-3-3l6 6m0-6l-6 6",
    "error": "m-2.5-2.5h5v5h-5z",
}
_ROOM = 42.0
"""Height for marks on top of each other."""


class Mark(NamedTuple):
    """One sample in the picture."""

    tick: Tick
    x: float
    y: float

    @property
    def path(self) -> str:
        """A dot if it passes, a cross if it fails, a square if it has no score: the colour is not alone."""
        return f"M{self.x:g} {self.y:g}{_SHAPES[self.tick.kind]}"


class Strip(NamedTuple):
    """A picture of an axis."""

    width: float
    height: float
    start: float
    """Where the axis begins; samples without a score are left of it."""
    end: float
    marks: tuple[Mark, ...]

    def paths(self) -> dict[str, str]:
        """All marks of a kind as one path, for many of them."""
        kinds = dict.fromkeys(mark.tick.kind for mark in self.marks)
        return {kind: "".join(mark.path for mark in self.marks if mark.tick.kind == kind) for kind in kinds}


def strip(axis: Axis, width: float = 320.0) -> Strip:
    """Where everything of an axis goes."""
    start = _EDGE + (_UNSCORED if any(tick.value is None for tick in axis.ticks) else 0)
    end = width - _EDGE
    columns: dict[int, list[Tick]] = {}
    for tick in axis.ticks:
        columns.setdefault(round(_x(tick, axis, start, end) / 5), []).append(tick)
    highest = max(map(len, columns.values()), default=1)
    step = min(_STEP, _ROOM / highest)
    height = 16 + step * (highest - 1)
    marks = [
        Mark(tick, round(_x(tick, axis, start, end), 1), round(height - 9 - step * level, 1))
        for ticks in columns.values()
        for level, tick in enumerate(ticks)
    ]
    return Strip(width, round(height + 1, 1), start, end, tuple(marks))


def _x(tick: Tick, axis: Axis, start: float, end: float) -> float:
    if tick.value is None:
        return _EDGE
    share = (tick.value - axis.low) / ((axis.high - axis.low) or 1)
    return start + (end - start) * min(1.0, max(0.0, share))
