"""Which cases vary between samples: cases × metrics, a larger and stronger circle for a wider spread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prompt_evaluator.model.chart import MOST_COLUMNS, MOST_ROWS
from prompt_evaluator.model.wording import many, percent
from prompt_evaluator.reports.charts.parts import (
    chart,
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

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_evaluator.model.chart import CaseCell, Chart, ChartData, ChartSize
    from prompt_evaluator.reports.charts.parts import Row

_ROW, _COLUMN, _FEWEST_WIDE = 20, 64, 3
_SHARES = (0.1, 0.25, 0.5)


def draw(data: ChartData, size: ChartSize) -> Chart:
    cells = [cell for cell in data.cells if cell.std is not None]
    if not data.cells:
        return nothing(data, "No case has a score, so nothing can be said about stability.")
    if not cells:
        return nothing(data, "Every case has one sample. Take two or more (--num-samples) to see which cases vary.")
    columns = list(dict.fromkeys(cell.metric for cell in cells))
    few = set(sorted(columns, key=lambda metric: -_widest(cells, metric))[:MOST_COLUMNS])
    cells = [cell for cell in cells if cell.metric in few]
    order = list(dict.fromkeys(cell.test_case_id for cell in sorted(cells, key=_share, reverse=True)))
    kept = order[:MOST_ROWS]
    left_out = data.left_out + len(order) - len(kept)
    cases, metrics = labels(kept), labels((cell.metric for cell in cells), 40)
    place = {case_id: at for at, case_id in enumerate(kept)}
    shown_cells = sorted(
        (cell for cell in cells if cell.test_case_id in place), key=lambda cell: place[cell.test_case_id]
    )
    rows = [_row(cell, cases[cell.test_case_id], metrics[cell.metric]) for cell in shown_cells]
    column = _COLUMN if len(metrics) > _FEWEST_WIDE else _COLUMN * 2
    where = {
        "y": nominal("case", axis=names_axis(grid=True, zindex=0)),
        "x": nominal("metric", axis=names_axis(orient="top", labelAngle=-40 if len(metrics) > _FEWEST_WIDE else 0)),
    }
    legend = {
        "title": ["std, as a share", "of the scale"],
        "format": ".0%",
        "values": list(_SHARES),
        "symbolType": "circle",
    }
    shares = {"domain": [0, _SHARES[-1]], "clamp": True}
    steady, varying = [row for row in rows if not row["share"]], [row for row in rows if row["share"]]
    details = tooltip(case="case", metric="metric", std="std", mean="mean", count="samples", variability="variability")
    specification = {
        "width": size.width or {"step": column},
        "height": size.height or {"step": _ROW},
        "layer": layers(
            # Has all rows, and so decides on their order; it also shows details anywhere in a cell.
            layer(rows, {"type": "rect", "opacity": 0}, {**where, "tooltip": details}),
            layer(
                varying,
                {"type": "point", "filled": True, "opacity": 1},
                {
                    **where,
                    "size": quantity("share", scale={**shares, "range": [12, 260]}, legend=legend),
                    "color": quantity("share", scale={**shares, "range": "ramp"}, legend=legend),
                },
            ),
            layer(
                steady,
                {"type": "point", "size": 14, "style": "pe-hollow", "filled": False},
                {**where, "tooltip": details},
            ),
        ),
    }
    if varying:
        which = (
            f"The {many(len(kept), 'most varying case')}; {left_out:,} not shown."
            if left_out
            else "The most varying case first."
        )
    else:
        which = "No case varies."
    more = f" {many(len(columns) - len(few), 'steadier metric')} not shown." if len(columns) > len(few) else ""
    said = [_sentence(cell) for cell in sorted(shown_cells, key=_share, reverse=True)[:5]]
    return chart(
        data,
        specification,
        subtitle=f"Standard deviation over the samples of a case. {which}{more} A small open circle: no spread.",
        alternative=f"Spread over samples. {which}{more} {spoken(said)}.",
    )


def _widest(cells: Sequence[CaseCell], metric: str) -> float:
    return max(_share(cell) for cell in cells if cell.metric == metric)


def _share(cell: CaseCell) -> float:
    return (cell.std or 0.0) / span(cell.scale)


def _row(cell: CaseCell, case: str, metric: str) -> Row:
    return {
        "case": case,
        "metric": metric,
        "share": _share(cell),
        "std": f"{score(cell.std or 0.0, cell.scale)} ({percent(_share(cell))} of the scale)",
        "mean": score(cell.mean, cell.scale),
        "count": cell.count,
        "variability": cell.variability or "unknown",
    }


def _sentence(cell: CaseCell) -> str:
    numbers = f"{score(cell.std or 0.0, cell.scale)} around a mean of {score(cell.mean, cell.scale)}"
    return f"{shown(cell.test_case_id)} on {shown(cell.metric)} {numbers} ({many(cell.count, 'sample')})"
