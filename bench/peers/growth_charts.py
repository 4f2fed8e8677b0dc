"""The growth of our own command as pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peer_figures import DOCS

from prompt_evaluator.reports.chart_theme import FONT, LIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from peer_figures import Growth


def draw(growth: Sequence[Growth]) -> None:
    """Write both pictures."""
    import vl_convert  # noqa: PLC0415 - 200 MB of memory

    for name, field, title in (("time", "seconds", "seconds"), ("memory", "megabytes", "peak memory, MB")):
        rows = [{"cases": row.cases, "value": getattr(row, field)} for row in growth]
        text = vl_convert.vegalite_to_svg(_chart(rows, title, is_log=field == "seconds"))
        (DOCS / "pictures" / f"growth-{name}.svg").write_text(text, encoding="utf-8")


def _chart(rows: list[dict[str, float]], title: str, *, is_log: bool) -> dict[str, Any]:
    scale = {"type": "log"} if is_log else {"zero": True}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 480,
        "height": 220,
        "background": LIGHT.background,
        "data": {"values": rows},
        "mark": {"type": "line", "point": True, "color": LIGHT.series[0]},
        "encoding": {
            "x": {
                "field": "cases",
                "type": "quantitative",
                "scale": {"type": "log"},
                "axis": {"title": "cases", "format": ","},
            },
            "y": {"field": "value", "type": "quantitative", "scale": scale, "axis": {"title": title, "format": ","}},
        },
        "config": {"font": FONT, "axis": {"labelColor": LIGHT.text, "titleColor": LIGHT.text, "gridColor": LIGHT.grid}},
    }
