"""Charts of pages: what the script in the browser needs to draw them, and the script itself."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from prompt_evaluator.reports.chart_files import INSTALL, bundle_version, can_draw, javascript_bundle
from prompt_evaluator.reports.chart_theme import theme_config
from prompt_evaluator.reports.html.chart_figures import script_source, subtitle

if TYPE_CHECKING:
    from prompt_evaluator.model.chart import Chart

NO_CHARTS = f"The extra «charts» draws a chart here: {INSTALL}"
_making = Lock()
"""Bundling takes seconds: those who ask meanwhile wait for the first."""


class ChartFigure(NamedTuple):
    """A chart in a page."""

    kind: str
    title: str
    caption: str
    """What it shows and how to read it, or why there is nothing to draw."""
    alternative: str
    """The same in words with its main numbers."""
    source: str | None
    """The specification as it stands in a script element; None if there is nothing to draw."""


def chart_figure(chart: Chart) -> ChartFigure:
    """A chart for a page, which shows its title and caption as text."""
    drawing = {key: value for key, value in chart.specification.items() if key not in ("title", "description")}
    return ChartFigure(
        kind=chart.kind,
        title=chart.title,
        caption=subtitle(chart) if drawing else chart.alternative,
        alternative=chart.alternative,
        source=script_source(drawing) if drawing else None,
    )


@cache
def chart_themes() -> str:
    """The colours of charts as they stand in a script element. The page is behind them, so they have no ground."""
    looks = {theme: theme_config(theme) | {"background": None, "padding": 4} for theme in ("light", "dark")}
    return script_source(looks)


def script_version() -> str | None:
    """Which script draws charts; None without the extra."""
    return bundle_version() if can_draw() else None


def chart_script() -> bytes:
    """The script, made once.

    Raises:
        ConfigurationError: The extra is not installed.
    """
    with _making:
        return _script()


@cache
def _script() -> bytes:
    return javascript_bundle().encode()
