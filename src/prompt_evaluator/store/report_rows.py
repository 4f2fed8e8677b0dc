"""Finds what a report shows of a run: its worst cases, their worst samples, and the cases that vary most.

The database sorts, and hands over only what is shown, so a run of any size takes the same memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from sqlalchemy import and_, case, distinct, func, or_, select

from prompt_evaluator.model.comparison import ComparedAnswer
from prompt_evaluator.model.report import CutText, VaryingRow, WorstAnswers
from prompt_evaluator.store.access import Access
from prompt_evaluator.store.case_columns import StoredColumns
from prompt_evaluator.store.case_lines import read_case_lines
from prompt_evaluator.store.result_tables import CASE_METRICS, CASE_RESULTS, SAMPLE_RESULTS, SCORES
from prompt_evaluator.store.worst_cases import count_failing, worst_positions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, RowMapping, Subquery, Table

    from prompt_evaluator.model.query import CaseLine

    Scales = Mapping[str, tuple[float, float]]

T = TypeVar("T")
_CALLED = {"min": "low", "max": "high"}
"""Maps columns to the names of what they become."""
_FROM_0_TO_1 = (0.0, 1.0)


class ReportRows(Access):
    """The part of the store that finds what is worth reading."""

    def worst_cases(self, run_id: str, scales: Scales, limit: int) -> list[CaseLine]:
        """Failing cases first, then flagged ones, then those with errors, then those below the top of a scale.

        Args:
            run_id: The run.
            scales: Of metrics; others are from 0 to 1. Scores count as shares of their scales.
            limit: How many cases at most.
        """
        positions = worst_positions(StoredColumns(self._read, run_id).pieces(), scales, limit)
        with self._read() as connection:
            return list(read_case_lines(connection, run_id, positions))

    def failing_cases(self, run_id: str) -> int:
        """How many cases fail."""
        return count_failing(StoredColumns(self._read, run_id).pieces())

    def varying_cases(self, run_id: str, scales: Scales, limit: int) -> tuple[list[VaryingRow], int]:
        """The cases whose samples differ most on some metric, each once, and how many vary in all."""
        own = CASE_METRICS.c
        varies = and_(
            own.run_id == run_id,
            own.std > 0,
            or_(own.variability.in_(("moderate", "high")), and_(own.passes > 0, own.passes < own["count"])),
        )
        width = own.std / _by_scale(own.metric, scales, lambda _, scale: scale[1] - scale[0])
        first = func.row_number().over(partition_by=own.position, order_by=(width.desc(), own.metric))
        names = ("metric", "mean", "std", "count", "min", "max", "passes", "repeat_std")
        columns = (own.position, width.label("width"), first.label("first"), *(own[name] for name in names))
        widest = select(*columns).where(varies).subquery()
        named = [widest.c[name].label(_CALLED.get(name, name)) for name in names]
        result = and_(CASE_RESULTS.c.run_id == run_id, CASE_RESULTS.c.position == widest.c.position)
        wanted = (
            select(widest.c.position, CASE_RESULTS.c.case_id.label("test_case_id"), *named)
            .join_from(widest, CASE_RESULTS, result)
            .where(widest.c.first == 1)
            .order_by(widest.c.width.desc(), widest.c.position)
        )
        with self._read() as connection:
            rows = connection.execute(wanted.limit(limit)).mappings().all()
            total = len(rows)
            if total == limit:  # otherwise these are all
                total = connection.scalar(select(func.count(distinct(own.position))).where(varies)) or 0
            return [_varying(connection, run_id, row) for row in rows], total

    def worst_answers(self, run_id: str, position: int, scales: Scales, *, limit: int, most_text: int) -> WorstAnswers:
        """The samples of one case: flagged ones first, then those with the lowest score, then those without one.

        Args:
            run_id: The run.
            position: The case.
            scales: As for `worst_cases`, in the order of the run.
            limit: How many samples at most.
            most_text: How many characters of each text to read.
        """
        row, this = SAMPLE_RESULTS.c, (*_own(SAMPLE_RESULTS, run_id), SAMPLE_RESULTS.c.position == position)
        of_case = (*_own(SCORES, run_id), SCORES.c.position == position)
        lowest = _lowest(SCORES, SCORES.c.value, SCORES.c.sample, scales, of_case)
        flagged = case((row.flags.contains(":true"), 0), else_=1)
        wanted = (
            select(row.sample, *_cut(row.answer, most_text), *_cut(row.error_message, most_text), row.flags)
            .outerjoin_from(SAMPLE_RESULTS, lowest, lowest.c.key == row.sample)
            .where(*this)
            .order_by(flagged, lowest.c.low.is_(None), lowest.c.low, lowest.c.mean, row.sample)
        )
        with self._read() as connection:
            rows = connection.execute(wanted.limit(limit)).all()
            total = connection.scalar(select(func.count()).select_from(SAMPLE_RESULTS).where(*this)) or 0
            scores = _scores(connection, of_case, [found[0] for found in rows], most_text)
        order = {name: at for at, name in enumerate(scales)}
        answers = [
            ComparedAnswer(
                sample=sample,
                answer=CutText(answer, length).shown,
                error=CutText(error, error_length).shown,
                scores=_sorted(scores.get(sample, ({}, {}))[0], order),
                reasons=_sorted(scores.get(sample, ({}, {}))[1], order),
                flags=tuple(name for name, raised in _decoded(flags).items() if raised),
            )
            for sample, answer, length, error, error_length, flags in rows
        ]
        return WorstAnswers(tuple(answers), total - len(answers))


def _varying(connection: Connection, run_id: str, found: RowMapping) -> VaryingRow:
    row = SCORES.c
    this = (row.run_id == run_id, row.position == found["position"], row.metric == found["metric"])
    judged = connection.execute(select(row.sample).where(*this, row.judge.is_not(None)).limit(1)).first()
    values = {str(name): value for name, value in found.items() if name != "position"}
    return VaryingRow(**values, judged=judged is not None)


def _scores(
    connection: Connection, of_case: Sequence[Any], samples: Sequence[int], most_text: int
) -> dict[int, tuple[dict[str, float], dict[str, str]]]:
    """Scores and reasons of some samples, by metric."""
    found: dict[int, tuple[dict[str, float], dict[str, str]]] = {}
    row = SCORES.c
    wanted = select(row.sample, row.metric, row.value, *_cut(row.reason, most_text)).where(*of_case)
    for sample, metric, value, reason, length in connection.execute(wanted.where(row.sample.in_(samples))):
        scores, reasons = found.setdefault(sample, ({}, {}))
        if value is not None:
            scores[metric] = value
        if shown := CutText(reason, length).shown:
            reasons[metric] = shown
    return found


def _lowest(
    table: Table, value: ColumnElement[Any], key: ColumnElement[Any], scales: Scales, where: Sequence[Any]
) -> Subquery:
    """The lowest and the mean value of each key, as shares of their scales."""
    share = _by_scale(table.c.metric, scales, lambda column, scale: (column - scale[0]) / (scale[1] - scale[0]), value)
    wanted = select(key.label("key"), func.min(share).label("low"), func.avg(share).label("mean"))
    return wanted.where(*where, value.is_not(None)).group_by(key).subquery()


def _by_scale(metric: ColumnElement[Any], scales: Scales, of: Any, value: Any = 1.0) -> Any:
    """A number that depends on the metric's scale; one for a scale from 0 to 1 if it is not known."""
    by_scale: dict[tuple[float, float], list[str]] = {}
    for name, scale in scales.items():
        if scale != _FROM_0_TO_1 and scale[1] > scale[0]:
            by_scale.setdefault(scale, []).append(name)
    usual = of(value, _FROM_0_TO_1)
    if not by_scale:
        return usual
    return case(*((metric.in_(names), of(value, scale)) for scale, names in by_scale.items()), else_=usual)


def _cut(column: ColumnElement[Any], most: int) -> tuple[Any, Any]:
    """The beginning of a text, and the length of all of it."""
    return func.substr(column, 1, most), func.length(column)


def _own(table: Table, run_id: str) -> tuple[Any]:
    return (table.c.run_id == run_id,)


def _sorted(found: Mapping[str, T], order: Mapping[str, int]) -> dict[str, T]:
    """Put metrics in the order of the run."""
    return {name: found[name] for name in sorted(found, key=lambda name: (order.get(name, len(order)), name))}


def _decoded(text: str | None) -> dict[str, bool]:
    found: dict[str, bool] = msgspec.json.decode(text) if text else {}
    return found
