"""Reads what charts show, from columns of cases: no chart needs an object per sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import select

from prompt_evaluator.model.case_columns import CASES_AT_ONCE
from prompt_evaluator.store.result_tables import CASE_METRICS
from prompt_evaluator.store.schema import CASES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from sqlalchemy import Connection

    from prompt_evaluator.model.case_columns import CaseColumns

_ROUNDING = 1e-9
"""A score on the edge of two bins belongs to the upper one, also if it is a little below it after rounding."""


class BinEdges(NamedTuple):
    """Bins of equal width."""

    start: float
    width: float
    bins: int


class StoredCell(NamedTuple):
    """A case on one metric."""

    case_id: str
    metric: str
    mean: float
    std: float | None
    samples: int
    variability: str | None


class VaryingCells(NamedTuple):
    """The cells of the cases that vary most, the most varying case first, and how many cases have any score."""

    cells: tuple[StoredCell, ...]
    cases: int


def count_bins(pieces: Iterable[CaseColumns], edges: Mapping[str, BinEdges]) -> dict[tuple[str, int], int]:
    """How many samples have a score in each bin, by metric and number of the bin; empty bins are absent.

    Scores below the first bin count in it, those above the last one in that.
    """
    import numpy as np  # noqa: PLC0415 - takes a tenth of a second

    from prompt_evaluator.stats.packed import scores  # noqa: PLC0415

    found = {name: np.zeros(each.bins, dtype=np.int64) for name, each in edges.items()}
    for piece in pieces:
        for name, counts in found.items():
            if (columns := piece.metrics.get(name)) is not None:
                values = scores(columns.values if columns.sizes else columns.mean, 0)
                place = (values - edges[name].start) / edges[name].width + _ROUNDING
                np.add.at(counts, np.clip(place, 0, len(counts) - 1).astype(np.int64), 1)
    return {(name, at): count for name, counts in found.items() for at, count in enumerate(counts.tolist()) if count}


def read_cells(
    connection: Connection, run_id: str, positions: Sequence[int], spans: Mapping[str, float]
) -> Iterator[StoredCell]:
    """The cells of some cases on these metrics, in this order."""
    own = (
        CASE_METRICS.c.run_id == run_id,
        CASE_METRICS.c.metric.in_(list(spans)),
        CASE_METRICS.c.mean.is_not(None),
    )
    columns = (CASE_METRICS.c[name] for name in ("position", "metric", "mean", "std", "count", "variability"))
    wanted = (
        select(CASES.c.case_id, *columns)
        .join(CASES, (CASES.c.run_id == CASE_METRICS.c.run_id) & (CASES.c.position == CASE_METRICS.c.position))
        .where(*own, CASE_METRICS.c.position.in_(positions))
    )
    order = {position: at for at, position in enumerate(positions)}
    metrics = {name: at for at, name in enumerate(spans)}
    rows = sorted(connection.execute(wanted), key=lambda row: (order[row.position], metrics[row.metric]))
    return (StoredCell(row[0], row.metric, row.mean, row.std, row[5], row.variability) for row in rows)


def most_varying(pieces: Iterable[CaseColumns], spans: Mapping[str, float], limit: int) -> tuple[list[int], int]:
    """The cases with the largest standard deviation on any metric, as a share of its scale (`spans`).

    Returns:
        Their positions, the most varying first, and how many cases have any score.
    """
    import numpy as np  # noqa: PLC0415 - takes a tenth of a second

    from prompt_evaluator.stats.packed import places, scores  # noqa: PLC0415

    best: list[tuple[float, int]] = []
    cases = 0
    for number, piece in enumerate(pieces):
        widest = np.full(piece.size, -1.0)  # of a case without a score
        for metric, span in spans.items():
            if (columns := piece.metrics.get(metric)) is not None:
                at = places(columns.at, piece.size)
                std = scores(columns.std, len(at))
                widest[at] = np.maximum(widest[at], np.nan_to_num(std) / span)
        scored = np.flatnonzero(widest >= 0)
        cases += len(scored)
        chosen = scored[np.argsort(-widest[scored], kind="stable")[:limit]]
        found = zip((-widest[chosen]).tolist(), (chosen + number * CASES_AT_ONCE).tolist(), strict=True)
        best = sorted([*best, *found])[:limit]
    return [position for _, position in best], cases
