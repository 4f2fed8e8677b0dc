"""Colours and fonts of charts, light and dark.

The colours are those of Okabe and Ito, which people with any kind of colour vision can tell apart. On white, their
purple is too pale to be seen well, so the light theme has it darker. Charts never use colour alone: shapes, positions
and words say the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from prompt_evaluator.model.chart import Theme

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", "DejaVu Sans", Arial, sans-serif'


class Colours(NamedTuple):
    """The colours of one theme."""

    background: str
    text: str
    muted: str
    """Of less important text."""
    line: str
    """Of axes and reference lines."""
    grid: str
    series: tuple[str, str]
    """Of means, and of changes of level."""
    classes: tuple[str, ...]
    """Better, worse, no difference, cannot tell."""


LIGHT = Colours(
    background="#ffffff",
    text="#1f2328",
    muted="#59636e",
    line="#818b98",
    grid="#e6e8eb",
    series=("#0072B2", "#D55E00"),
    classes=("#0072B2", "#D55E00", "#6e7781", "#B85C8E"),
)
DARK = Colours(
    background="#16181d",
    text="#e6e8eb",
    muted="#a3abb6",
    line="#77808c",
    grid="#2b3038",
    series=("#56B4E9", "#E69F00"),
    classes=("#56B4E9", "#E8702A", "#9aa4af", "#CC79A7"),
)
_BY_NAME: dict[Theme, Colours] = {"light": LIGHT, "dark": DARK}


def theme_config(theme: Theme) -> dict[str, Any]:
    """The `config` of a Vega-Lite specification, also to be handed to vega-embed."""
    colours = _BY_NAME[theme]
    axis = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal"}
    return {
        "background": colours.background,
        "font": FONT,
        "padding": 16,
        "view": {"stroke": None},
        "title": {
            "anchor": "start",
            "frame": "group",
            "color": colours.text,
            "fontSize": 15,
            "fontWeight": 600,
            "subtitleColor": colours.muted,
            "subtitleFontSize": 12,
            "subtitlePadding": 6,
            "offset": 14,
        },
        "axis": {
            **axis,
            "labelColor": colours.text,
            "titleColor": colours.muted,
            "domainColor": colours.line,
            "tickColor": colours.line,
            "gridColor": colours.grid,
            "titlePadding": 8,
        },
        "axisBand": {"grid": False, "domain": False, "ticks": False, "labelPadding": 8},
        "legend": {
            **axis,
            "labelColor": colours.text,
            "titleColor": colours.muted,
            "labelLimit": 260,
            "symbolStrokeColor": colours.text,
        },
        "header": {
            "labelColor": colours.text,
            "labelFontSize": 12,
            "labelFontWeight": 600,
            "labelAnchor": "start",
            "labelLimit": 220,
            "title": None,
        },
        "range": {"ordinal": list(colours.classes)},
        "style": _styles(colours),
    }


def _styles(colours: Colours) -> dict[str, Any]:
    """Looks that charts refer to by name; Vega-Lite has styles of its own, such as `cell`."""
    small = {"fontSize": 12, "baseline": "middle"}
    return {
        "pe-value": {**small, "color": colours.text, "align": "left"},
        "pe-note": {**small, "color": colours.muted, "fontSize": 11},
        "pe-bar": {"fill": colours.series[0], "color": colours.series[0]},
        "pe-mean": {"color": colours.series[0], "stroke": colours.series[0], "fill": colours.series[0]},
        "pe-interval": {"color": colours.series[0], "stroke": colours.series[0], "strokeWidth": 2},
        "pe-range": {"color": colours.series[0], "fill": colours.series[0], "fillOpacity": 0.15},
        "pe-ignored": {"fill": colours.muted, "fillOpacity": 0.18},
        "pe-reference": {"color": colours.line, "stroke": colours.line, "strokeDash": [4, 4], "strokeWidth": 1},
        "pe-level": {"color": colours.text, "stroke": colours.text, "strokeWidth": 1.5},
        "pe-change": {"color": colours.series[1], "stroke": colours.series[1], "strokeWidth": 1.5},
        "pe-change-text": {**small, "color": colours.series[1], "fontWeight": 600},
        "pe-event": {"color": colours.text, "stroke": colours.text, "fill": colours.text},
        "pe-hollow": {"color": colours.muted, "stroke": colours.muted, "strokeWidth": 2},
        "pe-hollow-rule": {"color": colours.muted, "stroke": colours.muted, "strokeWidth": 1.5},
        "pe-frontier": {
            "color": colours.series[0],
            "stroke": colours.series[0],
            "strokeWidth": 1.5,
            "strokeDash": [6, 3],
        },
    }
