"""Charts in a page: their specifications for the script that draws them, and the same numbers as tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from prompt_evaluator.model.wording import many
from prompt_evaluator.reports.chart_theme import theme_config
from prompt_evaluator.reports.html.markup import Html, element, join
from prompt_evaluator.reports.html.parts import Column, Row, fold, paragraph, section, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from prompt_evaluator.model.chart import Chart

_MOST_ROWS = 200
"""Of the table below a chart."""
_FOR_SCRIPTS = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"})


def charts_section(charts: Sequence[Chart]) -> Html | None:
    """All charts; None if there are none."""
    if not charts:
        return None
    colours = {theme: theme_config(theme) for theme in ("light", "dark")}
    figures = [_figure(chart, at) for at, chart in enumerate(charts)]
    return section("charts", "Charts", data("chart-themes", colours), element("div", *figures, class_="figures"))


def data(id_: str, value: Any) -> Html:
    """Data for a script. No text in it can end the element, whatever it says."""
    return element("script", Html(trusted=script_source(value)), type="application/json", id=id_)


def script_source(value: Any) -> str:
    """What stands in an element with data for a script."""
    return json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).translate(_FOR_SCRIPTS)


def _figure(chart: Chart, at: int) -> Html:
    id_ = f"chart-{at}"
    needs = "This chart is drawn by JavaScript, which is off. The numbers below say the same."
    drawing = {key: value for key, value in chart.specification.items() if key not in ("title", "description")}
    return element(
        "figure",
        element("h3", chart.title),
        element("figcaption", subtitle(chart)),
        data(f"{id_}-data", drawing),
        element("div", id=id_, class_="chart", role="img", aria_label=chart.alternative),
        element("noscript", paragraph(needs, "dim")),
        *_numbers(chart),
        data_chart=id_,
    )


def subtitle(chart: Chart) -> str:
    """The line below the title, which wraps in a page but not in a drawing."""
    return " ".join(chart.specification["title"]["subtitle"])


def _numbers(chart: Chart) -> Iterator[Html]:
    rows = max(_values(chart.specification), key=len, default=[])
    if not rows:
        return
    keys = list(dict.fromkeys(key for row in rows for key, value in row.items() if _is_plain(value)))
    columns = [Column(key.replace("_", " "), any(_is_number(row.get(key)) for row in rows)) for key in keys]
    shown = [Row(tuple(_shown(row.get(key)) for key in keys)) for row in rows[:_MOST_ROWS]]
    left_out = len(rows) - len(shown)
    more = [paragraph(f"{many(left_out, 'more row')} not listed here.", "dim")] if left_out > 0 else []
    caption = f"Numbers of the chart “{chart.title}”"
    yield fold("Numbers", join([table(caption, columns, shown, class_="small"), *more]), class_="numbers")


def _values(node: Any) -> Iterator[list[dict[str, Any]]]:
    """All rows of data that stand in a specification."""
    if isinstance(node, list):
        for each in node:
            yield from _values(each)
    elif isinstance(node, dict):
        for key, each in node.items():
            if key == "values" and isinstance(each, list) and each and all(isinstance(row, dict) for row in each):
                yield each
            else:
                yield from _values(each)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, (str, int, float))


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _shown(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.4g}" if isinstance(value, float) else str(value)
