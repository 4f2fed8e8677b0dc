"""Groups of cases against the rest: what certainly differs is coloured strongly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.chart import MOST_COLUMNS, MOST_ROWS, SIGNIFICANT, THIN_SLICE
from prompt_evaluator.model.wording import listed, many, p_value, signed
from prompt_evaluator.reports.charts.parts import (
    chart,
    distinct,
    labels,
    layer,
    layers,
    names_axis,
    nominal,
    nothing,
    quantity,
    score,
    shown,
    span,
    spoken,
    tooltip,
)
from prompt_evaluator.reports.levels import digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import Chart, ChartData, ChartSize, SliceCell
    from prompt_evaluator.reports.charts.parts import Row

_ROW, _COLUMN = 26, 92
_LEVEL = 5
"""Metrics whose names fit beside each other."""
_STRONG = 0.55
"""At or above this share of the largest difference, the text needs a contrast to the colour."""
_PALE = 0.22


def draw(data: ChartData, size: ChartSize) -> Chart:
    if not data.slices:
        return nothing(data, "The cases have no metadata that divides them into a few groups, so there are no slices.")
    keys = _ordered(data.slices)[:MOST_ROWS]
    left_out = data.left_out + len({_key(cell) for cell in data.slices}) - len(keys)
    columns = _columns(data.slices)
    few = set(columns[:MOST_COLUMNS])
    at = {key: number for number, key in enumerate(keys)}
    cells = sorted(
        (cell for cell in data.slices if _key(cell) in at and cell.metric in few), key=lambda cell: at[_key(cell)]
    )
    counts = {key: max(cell.cases for cell in data.slices if _key(cell) == key) for key in keys}
    names = dict(zip(keys, distinct(f"{key} = {value}  ({counts[key, value]})" for key, value in keys), strict=True))
    metrics = labels((cell.metric for cell in cells), 40)
    largest = max((abs(_share(cell)) for cell in cells), default=0.0) or 1.0
    rows = [_row(cell, names[_key(cell)], metrics[cell.metric], largest) for cell in cells]
    where = {
        "y": nominal("slice", axis=names_axis(labelLimit=320)),
        "x": nominal(
            "metric", axis=names_axis(orient="top", labelAngle=-40 if len(metrics) > _LEVEL else 0, labelLimit=200)
        ),
    }
    colour = quantity(
        "share",
        scale={
            "type": "linear",
            "domain": [-largest, -largest / 2, 0, largest / 2, largest],
            "range": "diverging",
            "interpolate": "rgb",
        },
        legend={"title": ["difference to the rest,", "as a share of the scale"], "format": "+.0%", "tickCount": 3},
    )
    details = tooltip(
        slice="slice",
        metric="metric",
        mean="mean",
        interval="95 % interval",
        count="cases",
        difference="difference to the rest",
        p="p, corrected",
    )
    text = {**where, "text": {"field": "mean"}}
    specification = {
        "width": size.width or {"step": _COLUMN},
        "height": size.height or {"step": _ROW},
        "layer": layers(
            layer(
                rows,
                {"type": "rect"},
                {**where, "color": colour, "opacity": quantity("opacity", scale=None), "tooltip": details},
            ),
            layer(
                [row for row in rows if row["thin"]],
                {
                    "type": "rect",
                    "style": "pe-cell-outline",
                    "filled": False,
                    "strokeDash": [3, 3],
                    "width": {"band": 0.94},
                    "height": {"band": 0.82},
                },
                where,
            ),
            layer([row for row in rows if not row["dark"]], {"type": "text", "style": "pe-cell"}, text),
            layer([row for row in rows if row["dark"]], {"type": "text", "style": "pe-cell-strong"}, text),
        ),
    }
    certain = [cell for cell in cells if _is_certain(cell)]
    tested = sum(cell.p_value is not None for cell in data.slices)
    how = f"{many(tested, 'cell')} compared with the rest; {_strongly(len(certain))}"
    hidden = [many(left_out, "slice")] if left_out else []
    hidden += [many(len(columns) - len(few), "metric")] if len(columns) > len(few) else []
    more = f" {listed(hidden)} not shown." if hidden else ""
    thin = f" Dashed, *: fewer than {THIN_SLICE} cases." if any(row["thin"] for row in rows) else ""
    said = f" {spoken([_sentence(cell) for cell in certain])}." if certain else ""
    return chart(
        data,
        specification,
        subtitle=f"Mean of each metric by slice (number of cases). {how}.{thin}{more}",
        alternative=f"{how}.{said}{more}",
    )


def _strongly(number: int) -> str:
    if not number:
        return "none differs significantly after the correction (Holm)"
    return f"{number:,} differ{'s' if number == 1 else ''} significantly after the correction (Holm), in strong colour"


def _key(cell: SliceCell) -> tuple[str, str]:
    return cell.key, cell.value


def _share(cell: SliceCell) -> float:
    return (cell.difference or 0.0) / span(cell.scale)


def _is_certain(cell: SliceCell) -> bool:
    return cell.p_value is not None and cell.p_value < SIGNIFICANT


def _ordered(cells: Sequence[SliceCell]) -> list[tuple[str, str]]:
    """Slices by key, the key with the most certain difference first, its worst slice on top."""
    least: dict[str, float] = {}
    worst: dict[tuple[str, str], float] = {}
    for cell in cells:
        least[cell.key] = min(1.0 if cell.p_value is None else cell.p_value, least.get(cell.key, 1.0))
        worst[_key(cell)] = min(_share(cell), worst.get(_key(cell), 0.0))
    return sorted(worst, key=lambda each: (least[each[0]], each[0], worst[each], each[1]))


def _columns(cells: Sequence[SliceCell]) -> list[str]:
    """Metrics, those with the most certain difference first if there are too many to show all."""
    metrics = list(dict.fromkeys(cell.metric for cell in cells))
    if len(metrics) <= MOST_COLUMNS:
        return metrics
    least = dict.fromkeys(metrics, 1.0)
    for cell in cells:
        least[cell.metric] = min(least[cell.metric], 1.0 if cell.p_value is None else cell.p_value)
    return sorted(metrics, key=lambda metric: least[metric])


def _row(cell: SliceCell, name: str, metric: str, largest: float) -> Row:
    thin, certain = cell.cases < THIN_SLICE, _is_certain(cell)
    interval = (
        "none"
        if cell.low is None or cell.high is None
        else f"{score(cell.low, cell.scale)} to {score(cell.high, cell.scale)}"
    )
    return {
        "slice": name,
        "metric": metric,
        "share": _share(cell),
        "mean": score(cell.mean, cell.scale) + ("*" if thin else ""),
        "interval": interval,
        "count": cell.cases,
        "difference": "unknown" if cell.difference is None else signed(cell.difference, digits(cell.scale)),
        "p": "not tested" if cell.p_value is None else p_value(cell.p_value),
        "opacity": 1.0 if certain else _PALE,
        "thin": thin,
        "dark": certain and abs(_share(cell)) >= _STRONG * largest,
    }


def _sentence(cell: SliceCell) -> str:
    difference = signed(cell.difference or 0.0, digits(cell.scale))
    numbers = f"{score(cell.mean, cell.scale)}, {difference} against the rest, {p_value(cell.p_value or 0.0)}"
    return f"{shown(cell.key)} = {shown(cell.value)} on {shown(cell.metric)}: {numbers}, {many(cell.cases, 'case')}"
