"""Small pictures in tables, as SVG: they need no script, follow the page's colours and are printed sharply."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.reports.html.markup import Html, element

if TYPE_CHECKING:
    from collections.abc import Sequence

_WIDTH, _HEIGHT, _MARGIN = 168.0, 20.0, 6.0
_MIDDLE = _HEIGHT / 2
Range = tuple[float, float]


class Axis(NamedTuple):
    """From the left to the right end of a picture."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Where a value is drawn; outside the axis, at its end."""
        if self.high <= self.low:
            return _WIDTH / 2
        share = (value - self.low) / (self.high - self.low)
        return round(_MARGIN + min(1.0, max(0.0, share)) * (_WIDTH - 2 * _MARGIN), 1)


def dot(  # noqa: PLR0913 - what a picture may show
    axis: Axis,
    mean: float,
    interval: Range | None,
    *,
    label: str,
    mark: str | None = None,
    span: Range | None = None,
    bar: float | None = None,
) -> Html:
    """A dot with its interval; a thin line for a wider span, and a dashed one for a bar to reach."""
    return _picture(
        label,
        mark,
        _line(axis, span, "span") if span else None,
        _line(axis, interval, "interval") if interval else None,
        _tick(axis.at(bar), "bar") if bar is not None else None,
        element("circle", cx=axis.at(mean), cy=_MIDDLE, r=3.5),
    )


def difference(  # noqa: PLR0913 - as many parts as the picture has
    axis: Axis, value: float, interval: Range | None, *, threshold: float, label: str, mark: str
) -> Html:
    """A difference with its interval, over a band of differences that do not matter."""
    left, right = axis.at(-threshold), axis.at(threshold)
    return _picture(
        label,
        mark,
        element("rect", x=left, width=round(right - left, 1), y=2, height=_HEIGHT - 4, class_="band"),
        _tick(axis.at(0.0), "zero"),
        _line(axis, interval, "interval") if interval else None,
        element("circle", cx=axis.at(value), cy=_MIDDLE, r=3.5),
    )


def _picture(label: str, mark: str | None, *shapes: Html | None) -> Html:
    base = element("line", x1=_MARGIN, x2=_WIDTH - _MARGIN, y1=_MIDDLE, y2=_MIDDLE, class_="axis")
    return element(
        "svg",
        base,
        *shapes,
        class_=f"picture {mark or 'none'}",
        width=int(_WIDTH),
        height=int(_HEIGHT),
        viewBox=f"0 0 {_WIDTH:g} {_HEIGHT:g}",
        role="img",
        aria_label=label,
    )


def _line(axis: Axis, ends: Sequence[float], kind: str) -> Html:
    return element("line", x1=axis.at(ends[0]), x2=axis.at(ends[1]), y1=_MIDDLE, y2=_MIDDLE, class_=kind)


def _tick(x: float, kind: str) -> Html:
    return element("line", x1=x, x2=x, y1=2, y2=_HEIGHT - 2, class_=kind)
