"""A heat map: groups of cases by their metadata, times metrics. Only what is hardly chance has a colour."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

import msgspec

from prompt_evaluator.app.findings import digits
from prompt_evaluator.model.case_filter import filter_word, metric_word, toggled
from prompt_evaluator.model.chart import SIGNIFICANT, THIN_SLICE, SliceCell
from prompt_evaluator.model.wording import decimal, many, p_value, signed
from prompt_evaluator.stats import FEWEST_CASES

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from prompt_evaluator.model.api import ApiRun

_MOST_CELLS = 400
"""On the page, so that it stays small; a file has all of them."""
_MOST_METRICS = 20
_FEWEST_ROWS = 20


class MapCell(msgspec.Struct, frozen=True, kw_only=True):
    """One group of cases on one metric."""

    cell: SliceCell
    kind: Literal["worse", "better", ""]
    """How it differs from the other cases, if that survives the correction for many tests."""
    thin: bool
    """Whether it has so few cases that its mean says little."""
    q: str | None
    """The filter that shows exactly its cases."""
    text: str
    """All of it in words."""


class MapRow(msgspec.Struct, frozen=True, kw_only=True):
    """One group of cases."""

    key: str
    value: str
    q: str | None
    """The filter that shows its cases, also those without a score."""
    cells: tuple[MapCell | None, ...]
    """One for each metric; None if none of its cases has a score."""

    @property
    def name(self) -> str:
        return f"{self.key} = {self.value}"


class MapMetric(msgspec.Struct, frozen=True, kw_only=True):
    """A column."""

    name: str
    digits: int
    scale: tuple[float, float]
    mean: float | None
    """Over all cases."""
    cases: int | None


class SliceMap(msgspec.Struct, frozen=True, kw_only=True):
    """The whole map, the worst group for its size first."""

    metrics: tuple[MapMetric, ...]
    rows: tuple[MapRow, ...]
    keys: tuple[str, ...]
    """The metadata keys that the groups are of."""
    cells: int
    compared: int
    """Cells with enough cases for a test against the others."""
    differing: int
    thin: int

    @property
    def headline(self) -> str:
        """What stands out, in a sentence."""
        if not self.rows:
            return "There are no groups of cases."
        if not self.compared:
            return f"No group has the {FEWEST_CASES} cases that a comparison with the others needs."
        found = [each for row in self.rows for each in row.cells if each and each.kind == "worse"]
        if not found:
            return "No group of cases is worse than the others by more than chance."
        cell = min(found, key=lambda each: each.cell.p_value or 0.0).cell
        by = decimal(abs(cell.difference or 0.0), digits(cell.scale))
        others = f", and {many(len(found) - 1, 'more cell is', 'more cells are')} worse" if len(found) > 1 else ""
        return f"Cases with {cell.key} = {cell.value} are worse than the others on {cell.metric} by {by}{others}."

    @property
    def fitting(self) -> SliceMap:
        """As much of it as a page shows."""
        metrics = self.metrics[:_MOST_METRICS]
        most = max(_FEWEST_ROWS, _MOST_CELLS // max(1, len(metrics)))
        rows = [msgspec.structs.replace(row, cells=row.cells[:_MOST_METRICS]) for row in self.rows[:most]]
        return msgspec.structs.replace(self, metrics=metrics, rows=tuple(rows))


def slice_map(run: ApiRun, cells: Sequence[SliceCell]) -> SliceMap:
    """Put the cells of a run, as `slice_cells` finds them, into rows and columns."""
    found = {(cell.key, cell.value, cell.metric): cell for cell in cells}
    names = [*(name for name in run.scores if any(cell.metric == name for cell in cells))]
    names += dict.fromkeys(cell.metric for cell in cells if cell.metric not in run.scores)
    complete = {name for name, score in run.scores.items() if score.cases == run.cases}
    worst = _shortfalls(cells)
    rows = [
        MapRow(
            key=key,
            value=value,
            q=toggled("", word) if (word := filter_word(key, value)) else None,
            cells=tuple(_cell(cell, complete) if (cell := found.get((key, value, name))) else None for name in names),
        )
        for key, value in sorted(worst, key=worst.__getitem__)
    ]
    shown = [cell for row in rows for cell in row.cells if cell]
    return SliceMap(
        metrics=tuple(_metric(name, run, cells) for name in names),
        rows=tuple(rows),
        keys=tuple(dict.fromkeys(cell.key for cell in cells)),
        cells=len(cells),
        compared=sum(cell.p_value is not None for cell in cells),
        differing=sum(bool(cell.kind) for cell in shown),
        thin=sum(cell.thin for cell in shown),
    )


def _shortfalls(cells: Sequence[SliceCell]) -> dict[tuple[str, str], float]:
    """How far each group is from the others on its worst metric, for its size.

    What chance does to a mean shrinks with the root of the number of cases, so a difference is multiplied by that.
    """
    worst: dict[tuple[str, str], float] = {}
    for cell in cells:
        low, high = cell.scale
        size = math.inf if cell.difference is None else cell.difference / ((high - low) or 1.0) * math.sqrt(cell.cases)
        group = (cell.key, cell.value)
        worst[group] = min(size, worst.get(group, math.inf))
    return worst


def _metric(name: str, run: ApiRun, cells: Sequence[SliceCell]) -> MapMetric:
    scale = next(cell.scale for cell in cells if cell.metric == name)
    score = run.scores.get(name)
    return MapMetric(
        name=name,
        digits=digits(scale),
        scale=scale,
        mean=score.mean if score else None,
        cases=score.cases if score else None,
    )


def _cell(cell: SliceCell, complete: Collection[str]) -> MapCell:
    differs = cell.p_value is not None and cell.p_value < SIGNIFICANT and cell.difference
    kind: Literal["worse", "better", ""] = "" if not differs else "worse" if (cell.difference or 0) < 0 else "better"
    return MapCell(
        cell=cell, kind=kind, thin=cell.cases < THIN_SLICE, q=_filter(cell, complete), text=_text(cell, kind)
    )


def _filter(cell: SliceCell, complete: Collection[str]) -> str | None:
    """The filter for the cases of a cell: if some cases have no score, only those with one."""
    group = filter_word(cell.key, cell.value)
    if group is None:
        return None
    if cell.metric in complete:
        return toggled("", group)
    scored = metric_word(cell.metric, ">=", cell.scale[0])
    return toggled(toggled("", group), scored) if scored else None


def _text(cell: SliceCell, kind: str) -> str:
    places = digits(cell.scale)
    parts = [f"{cell.key} = {cell.value}, {cell.metric}: {decimal(cell.mean, places)}"]
    if cell.low is not None and cell.high is not None:
        parts.append(f"95 %: {decimal(cell.low, places)} to {decimal(cell.high, places)}")
    parts.append(many(cell.cases, "case"))
    if cell.difference is not None:
        parts.append(f"{signed(cell.difference, places)} against the others")
    if cell.p_value is not None:
        parts.append(f"{kind or 'may be chance'} ({p_value(cell.p_value)}, corrected)")
    if cell.cases < THIN_SLICE:
        parts.append(f"thin: fewer than {THIN_SLICE} cases")
    return "; ".join(parts)
